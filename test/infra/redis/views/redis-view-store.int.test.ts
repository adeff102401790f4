import { Redis } from 'ioredis';
import { startRedisServer } from '../../../../infra/local/redis-server.ts';
import { redisConnection } from '../../../../infra/redis/redis-connection.ts';
import { redisViewReader } from '../../../../infra/redis/views/redis-view-reader.ts';
import { redisViewWriter } from '../../../../infra/redis/views/redis-view-writer.ts';
import { leadershipContract } from '../../../contracts/leadership.ts';
import { viewStoreContract } from '../../../contracts/view-store.ts';
import { freshKeyPrefix, redisUrl } from '../../../support/servers/backends.ts';
import { startRedisCluster } from '../../../support/servers/redis-cluster.ts';
import { scriptCases } from './script-cases.ts';

// Servers of their own: emptying them is part of the contract.
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

const redisCluster = async () => {
  const servers = await startRedisCluster();
  const settings = { url: servers.url, cluster: true, keyPrefix: freshKeyPrefix() };
  const admins = servers.nodes.map((node) => new Redis(node.url));
  return {
    writer: () => redisViewWriter(settings),
    reader: () => redisViewReader(settings),
    empty: async () => {
      for (const admin of admins) await admin.flushall();
    },
    close: async () => {
      for (const admin of admins) admin.disconnect();
      await servers.stop();
    },
  };
};

viewStoreContract('redis', redis);
viewStoreContract('redis cluster', redisCluster);
leadershipContract('redis', redis);
leadershipContract('redis cluster', redisCluster);
scriptCases('redis', async () => {
  const settings = { url: redisUrl(), cluster: false, keyPrefix: freshKeyPrefix() };
  return { connection: await redisConnection(settings, { waits: true }), keyPrefix: settings.keyPrefix };
});
