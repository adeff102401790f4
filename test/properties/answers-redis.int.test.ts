import { redisViewReader } from '../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../infra/redis/views/redis-view-writer.ts';
import { allTags } from '../../schemas/views/view-keys.ts';
import { freshKeyPrefix, redisUrl } from '../support/servers/backends.ts';
import { complete, lead } from '../support/stores/lead.ts';
import { answersProperty } from './answers.ts';

const numRuns = Number(process.env.RUNS ?? 25);

answersProperty(
  'Redis',
  async () => {
    const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
    const writer = await redisViewWriter(settings);
    // Nobody's views are believed before a leader has stamped them.
    await lead(writer);
    await complete(writer, allTags);
    const reader = redisViewReader(settings);
    while (!(await reader.get(['0|complete:']).catch(() => null)))
      await new Promise((resolve) => setTimeout(resolve, 5));
    return {
      writer,
      reader,
      // A change message takes milliseconds, but seconds where other processes have the machine.
      lateMs: 5_000,
      close: async () => {
        await writer.close();
        await reader.close();
      },
    };
  },
  numRuns,
);
