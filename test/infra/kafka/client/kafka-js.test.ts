import { expect, it, vi } from 'vitest';
import { kafkaJs } from '../../../../infra/kafka/client/kafka-js.ts';
import { silentLog } from '../../../support/processes/heard.ts';
import { tarpit } from '../../../support/servers/tarpit.ts';

it.each(['frozen', 'gone'])('a client whose signal aborts stops trying a broker that is %s', async (state) => {
  const pit = await tarpit();
  if (state === 'gone') pit.close();
  const stop = new AbortController();
  const heard: string[] = [];
  const log = { ...silentLog, warn: (message: string) => heard.push(message) };
  const connecting = kafkaJs({ brokers: [pit.address], ssl: false, sasl: null }, log, stop.signal)
    .admin()
    .connect();
  connecting.catch(() => {});
  if (state === 'frozen') await pit.caught;
  else await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), { timeout: 60_000 });
  stop.abort();
  const before = heard.length;
  // It had no end.
  await expect(connecting).rejects.toThrow();
  expect(heard.length).toBe(before);
  pit.close();
});
