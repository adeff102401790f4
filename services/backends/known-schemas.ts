import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { redisSchemaTexts } from '../../infra/redis/views/redis-schema-texts.ts';
import { KeptSchemas } from '../../infra/registry/kept-schemas.ts';
import { schemaRegistry } from '../../infra/registry/schema-registry.ts';
import type { Log } from '../../projector/running/log.ts';
import { WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { type Settings, SettingsError } from '../settings/settings.ts';

/** The writers' schemas that are known without asking: ours, and those of WRITER_SCHEMAS. Throws SettingsError. */
export function knownSchemas({ writerSchemas: dir }: Settings): WriterSchemas {
  const writers = new WriterSchemas();
  const problems: string[] = [];
  for (const file of dir === null ? [] : readdirSync(dir).filter((name) => name.endsWith('.avsc'))) {
    try {
      writers.addKnown(readFileSync(join(dir!, file), 'utf8'));
    } catch (cause) {
      const why = (cause as Error).message;
      problems.push(`Cannot use setting WRITER_SCHEMAS: ${join(dir!, file)} is not one Avro schema by itself: ${why}`);
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return writers;
}

/**
 * Where the settings say that schemas are looked up that are not known: the registry, and beside the views. `keeps`: what is
 * found there is kept. `source`: null where they are looked up nowhere; `kept`: the same, where they are kept.
 */
export function openSchemas({ kafka, redis }: Settings, writers: WriterSchemas, log: Log, keeps: boolean) {
  const url = kafka?.schemaRegistryUrl ?? null;
  const registry = url === null ? null : { url, source: schemaRegistry({ url }) };
  if (!redis) return { source: registry?.source ?? null, kept: null, close: async () => {} };
  const store = redisSchemaTexts(redis);
  const kept = new KeptSchemas({ registry, store, writers, log, keeps });
  return { source: kept, kept, close: () => store.close() };
}
