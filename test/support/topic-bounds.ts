import type { Admin } from 'kafkajs';
import { vi } from 'vitest';

/** What kafkajs says of a topic's ends. A broker on a busy machine may lead nothing for a moment, and kafkajs gives up. */
export const topicBounds = (admin: Admin, topic: string) =>
  vi.waitFor(() => admin.fetchTopicOffsets(topic), { timeout: 15_000, interval: 200 });
