import { createHash } from 'node:crypto';
import type { Log } from '../../projector/running/log.ts';
import type { FoundSchema, SchemaName, SchemaTexts, WriterSchemas } from '../../schemas/avro/writer-schemas.ts';
import { SchemaAwayError, type SchemaSource } from './schema-registry.ts';

/** Keeps texts by name, in a place that outlives the process. */
export interface TextStore {
  names(): Promise<string[]>;
  find(name: string): Promise<string | null>;
  /** Resolves once they are stored. */
  keep(texts: ReadonlyMap<string, string>): Promise<void>;
  close(): Promise<void>;
}

interface KeptSchemasDeps {
  /** Null: there is none. `url`: the registry that gave the ids. */
  registry: { source: SchemaSource; url: string } | null;
  store: TextStore;
  writers: WriterSchemas;
  log: Log;
  /** Whether texts of the registry are kept. Commands only look them up. */
  keeps: boolean;
}

/**
 * Writers' schemas as texts beside the views, outside of view formats, by fingerprint or by registry and id
 * (docs/rules.md#kept-schemas). So every projector, of this release or of another, reads what one could read before it.
 * Only texts are kept: what they are good for, each release judges for itself.
 */
export class KeptSchemas implements SchemaSource {
  readonly #deps: KeptSchemasDeps;
  readonly #ofRegistry: string | null;

  constructor(deps: KeptSchemasDeps) {
    this.#deps = deps;
    this.#ofRegistry = deps.registry && nameOfRegistry(deps.registry.url);
  }

  /** Looks up a schema, and stores what the registry says of it. */
  async lookUp(name: SchemaName, signal?: AbortSignal): Promise<FoundSchema> {
    const { registry, log, keeps } = this.#deps;
    if (typeof name === 'string' || registry === null) return (await this.#stored(name)) ?? 'unknown';
    let found: FoundSchema;
    try {
      found = await registry.source.lookUp(name, signal);
    } catch (error) {
      const stored = error instanceof SchemaAwayError ? await this.#stored(name).catch(() => null) : null;
      if (stored === null) throw error;
      log.info(`Schema ${name} is the one stored beside the views: the schema registry is away`);
      return stored;
    }
    if (found === 'unknown') return (await this.#stored(name)) ?? found;
    if (found !== 'unusable' && keeps) await this.#keep([[name, found]]);
    return found;
  }

  /** Stores all that are known and that the store lacks: at first, and what it lost since. */
  async keepAll(): Promise<void> {
    const there = await this.#names();
    await this.#keep([...this.#deps.writers.known].filter(([name]) => !there.has(this.#spelled(name)!)));
  }

  /** Whether one that was judged unknown is known by now: then what was decoded before must be judged anew. */
  async knowsMore(): Promise<boolean> {
    const { writers } = this.#deps;
    const there = writers.unknown.length > 0 ? await this.#names() : new Set();
    for (const name of writers.unknown)
      if (there.has(this.#spelled(name))) writers.add(name, (await this.#stored(name)) ?? 'unknown');
    return writers.judgesAnew();
  }

  async #names(): Promise<ReadonlySet<string | null>> {
    return new Set(await this.#deps.store.names().catch(away('cannot be looked up')));
  }

  async #keep(found: readonly [SchemaName, SchemaTexts][]): Promise<void> {
    const texts = new Map(found.map(([name, text]) => [this.#spelled(name)!, JSON.stringify(text)]));
    if (texts.size > 0) await this.#deps.store.keep(texts).catch(away('cannot be stored'));
  }

  async #stored(name: SchemaName): Promise<SchemaTexts | null> {
    const spelled = this.#spelled(name);
    const text = spelled && (await this.#deps.store.find(spelled).catch(away('cannot be looked up')));
    return text ? (JSON.parse(text) as SchemaTexts) : null;
  }

  /** Null: an id without a registry names nothing. */
  #spelled(name: SchemaName): string | null {
    return typeof name === 'string' ? name : this.#ofRegistry && `${this.#ofRegistry}/${name}`;
  }
}

const away = (what: string) => (cause: Error) => {
  throw new SchemaAwayError(`its text ${what} beside the views: ${cause.message}`);
};

/** The same for the same registry, without its credentials. */
function nameOfRegistry(url: string): string {
  const { origin, pathname } = new URL(url);
  return createHash('sha256').update(`${origin}${pathname}`).digest('hex').slice(0, 16);
}
