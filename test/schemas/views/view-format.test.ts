import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { MemoryViewStore } from '../../../infra/memory/memory-view-store.ts';
import { byTopic } from '../../../schemas/events/records.ts';
import { completeKey, viewFormat } from '../../../schemas/views/view-keys.ts';
import { parseKey } from '../../../schemas/views/view-kinds.ts';
import { projected } from '../../support/stores/projector-run.ts';
import { readPortland } from '../../support/worlds/portland.ts';

/**
 * What Portland's views are stored as: a digest of their keys and bytes, by kind. If this test fails, stored bytes have
 * changed. Raise `viewFormat`, so that projectors and API processes of both formats can run side by side, and put the
 * digests that it prints here.
 */
const golden = {
  viewFormat: 5,
  digests: {
    day: 'oEB02whRL7clGfh5',
    night: 'n6S6gPKBW_gGzt6u',
    ride: '5Z4hI5zdF3dJP0aL',
    rider: 'AekXk92M_8v93BCD',
    metro: 'SeDI6EsW33zzgwEz',
    key: '3AnE3FkBH15I_7ax',
    reader: 'KdTsRnKY10LmrV8P',
  },
};

it('a key has its tag and its kind before its id, whatever that is', () => {
  expect(parseKey(completeKey(7))).toEqual({ tag: 7, kind: 'complete', id: '' });
  expect(parseKey('62|day:a|b:c')).toEqual({ tag: 62, kind: 'day', id: 'a|b:c' });
});

it('stored bytes are those of the view format’s number', async () => {
  const records = await readPortland();
  const partitions = byTopic((of) => {
    return Math.max(...records.filter(({ topic }) => topic === of).map(({ partition }) => partition + 1));
  });
  const views = await projected(new MemoryViewStore(), { partitions, records });
  const byKind = Map.groupBy(views, ([name]) => parseKey(name).kind);
  const digests = Object.fromEntries(
    [...byKind].map(([kind, some]) => {
      const hash = createHash('sha256');
      for (const [name, bytes] of some) hash.update(`${name}\n${bytes}\n`, 'latin1');
      return [kind, hash.digest('base64url').slice(0, 16)];
    }),
  );
  expect({ viewFormat, digests }).toEqual(golden);
}, 60_000);
