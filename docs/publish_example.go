// Publishes records with franz-go and hamba/avro. In a module of its own, where schemas/events is:
//
//	go mod init publish && go mod tidy && KAFKA_BROKERS=127.0.0.1:9092 go run .
package main

import (
	"context"
	"os"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
)

var client *kgo.Client

// publish returns once the record is durable. A tombstone's record is nil.
func publish(ctx context.Context, topic, key string, record any) error {
	var value []byte
	if record != nil {
		schema, err := avro.ParseFiles("schemas/events/" + topic + ".avsc")
		if err != nil {
			return err
		}
		crc, err := schema.FingerprintUsing(avro.CRC64AvroLE)
		if err != nil {
			return err
		}
		body, err := avro.Marshal(schema, record)
		if err != nil {
			return err
		}
		value = append(append([]byte{0xC3, 0x01}, crc...), body...)
	}
	one := &kgo.Record{Topic: "ride-calendar." + topic, Key: []byte(key), Value: value}
	return client.ProduceSync(ctx, one).FirstErr()
}

type Meeting struct {
	PlaceName         *string `avro:"place_name"`
	District          *string `avro:"district"`
	Secret            bool    `avro:"secret"`
	ShowNeighbourhood bool    `avro:"show_neighbourhood"`
}

type Night struct {
	Ride               string         `avro:"ride"`
	Day                time.Time      `avro:"day"`
	MeetTime           *time.Duration `avro:"meet_time"`
	Status             string         `avro:"status"`
	CancellationReason *string        `avro:"cancellation_reason"`
	Meeting            *Meeting       `avro:"meeting"`
	URL                string         `avro:"url"`
	Revision           int64          `avro:"revision"`
	ChangedAt          time.Time      `avro:"changed_at"`
}

func main() {
	var err error
	// acks from all, idempotence and murmur2 are the defaults.
	if client, err = kgo.NewClient(kgo.SeedBrokers(os.Getenv("KAFKA_BROKERS"))); err != nil {
		panic(err)
	}
	place, district, at := "Kenton Park", "kenton", 18*time.Hour+30*time.Minute
	night := Night{
		Ride: "taco", Day: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), MeetTime: &at, Status: "ON",
		Meeting: &Meeting{PlaceName: &place, District: &district, ShowNeighbourhood: true},
		URL:     "https://rides.example/taco/2026-11-24", Revision: 1, ChangedAt: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
	}
	for _, record := range []any{night, nil} {
		if err := publish(context.Background(), "nights", "taco/2026-11-24", record); err != nil {
			panic(err)
		}
	}
}
