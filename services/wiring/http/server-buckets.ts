/** Histogram buckets for round trips to a server, in seconds. */
export const serverBuckets = [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 0.6, 2, 10, 30];
