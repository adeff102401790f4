import { Redis } from 'ioredis';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { leadershipContract } from '../../../contracts/leadership.ts';
import { viewStoreContract } from '../../../contracts/view-store.ts';
import { freshKeyPrefix } from '../../../support/servers/backends.ts';

// A server of its own: emptying it is part of the contract. A Redis Cluster is in ../redis-security.int.test.ts.
const redis = async () => {
  const server = await startRedisServer();
  const settings = { url: server.url, cluster: false, keyPrefix: freshKeyPrefix() };
  const admin = new Redis(server.url);
  return {
    writer: () => redisViewWriter(settings),
    reader: () => redisViewReader(settings),
    empty: async () => {
      await admin.flushall();
    },
    close: async () => {
      admin.disconnect();
      await server.stop();
    },
  };
};

viewStoreContract('redis', redis);
leadershipContract('redis', redis);
