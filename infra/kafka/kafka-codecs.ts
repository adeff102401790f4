import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { lz4Compress, lz4Decompress, snappyCompress, snappyDecompress } from '@platformatic/wasm-utils';
import kafkajs from 'kafkajs';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** What kafkajs expects of a codec. `compress` gets kafkajs's encoder, whose bytes are in `buffer`. */
interface Codec {
  compress(encoder: { buffer: Buffer }): Promise<Buffer>;
  decompress(buffer: Buffer): Promise<Buffer>;
}

const zstd: Codec = {
  compress: ({ buffer }) => promisify(zstdCompress)(buffer),
  decompress: (buffer) => promisify(zstdDecompress)(buffer),
};
const snappy: Codec = {
  compress: async ({ buffer }) => Buffer.from(snappyCompress(buffer)),
  decompress: async (buffer) => Buffer.from(snappyDecompress(buffer)),
};
const lz4: Codec = {
  compress: async ({ buffer }) => Buffer.from(lz4Compress(buffer)),
  decompress: async (buffer) => Buffer.from(lz4Decompress(buffer)),
};

/** Registers Kafka's other compressions. kafkajs itself has only gzip. */
export function registerKafkaCodecs(): void {
  const codecs = CompressionCodecs as unknown as Record<number, () => Codec>;
  codecs[CompressionTypes.ZSTD] = () => zstd;
  codecs[CompressionTypes.Snappy] = () => snappy;
  codecs[CompressionTypes.LZ4] = () => lz4;
}
