import { redisViewReader } from '../../infra/redis/redis-view-reader.ts';
import { redisViewWriter } from '../../infra/redis/redis-view-writer.ts';
import { freshKeyPrefix, redisUrl } from '../support/backends.ts';
import { answersProperty } from './answers.ts';

const numRuns = Number(process.env.RUNS ?? 60);

answersProperty(
  'Redis',
  async () => {
    const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
    const writer = await redisViewWriter(settings);
    const reader = redisViewReader(settings);
    while (!(await reader.get(['0|complete:']).catch(() => null)))
      await new Promise((resolve) => setTimeout(resolve, 1));
    return {
      writer,
      reader,
      lateMs: 1_000,
      close: async () => {
        await writer.close();
        await reader.close();
      },
    };
  },
  numRuns,
);
