import { differencesOf, differenceText } from './past/answer-difference.ts';
import { answerHistory, type Version } from './past/answer-history.ts';
import { needVersions, type PastAnswer, requestOf } from './past/past-answers.ts';
import { doubtsOf, openPastLog } from './past/past-log.ts';
import { sourcesOf } from './past/past-records.ts';
import { instantOf, instantText, type RecordClock } from './past/past-time.ts';
import { placeOf, placeText } from './past/records-in-time.ts';
import { withRaw } from './replay.ts';
import type { Settings } from './settings/settings.ts';
import { type ExitCode, type Io, UsageError } from './wiring/command/io.ts';
import { withProgress } from './wiring/command/progress.ts';

export interface HistoryCommandOptions {
  path: string;
  json?: boolean;
  archive?: string;
  rider?: string;
  from?: string;
  to?: string;
  by?: RecordClock;
}

/** Prints every version of one answer, oldest first, with the records that made it so. 1 where it never was. */
export async function runHistory(options: HistoryCommandOptions, settings: Settings, io: Io): Promise<ExitCode> {
  const { json = false, archive, by = 'timestamp' } = options;
  const request = requestOf('history', options.path, options.rider, settings.basePath);
  const fromMs = options.from === undefined ? Number.NEGATIVE_INFINITY : instantOf('history', '--from', options.from);
  const untilMs = options.to === undefined ? (settings.nowMs ?? Date.now()) : instantOf('history', '--to', options.to);
  if (untilMs < fromMs) {
    const end = options.to === undefined ? `now (${instantText(untilMs)}), where history ends without --to,` : '--to';
    throw new UsageError(`Cannot run history: ${end} is before --from, want it at or after it`);
  }
  needVersions('history', request);
  const log = await openPastLog('history', archive, settings, io);
  try {
    const told = new Telling(json, io, request.rider === null ? 404 : 401);
    await withProgress(io, 'Records read', null, async (progress) => {
      const how = { untilMs, signal: io.signal, onProgress: progress.update };
      for await (const version of answerHistory(sourcesOf(log, by), request, how)) {
        if (version.atMs < fromMs) {
          told.before(version);
          continue;
        }
        // The bar would be drawn over them, and they say how far it is.
        if (io.shown) progress.stop();
        told.tell(version);
      }
    });
    told.end();
    if (!json) for (const doubt of doubtsOf(log, untilMs)) io.err(`May not be exact: ${doubt}`);
    if (told.count > 0) return 0;
    io.err(`${request.target} has no version up to ${instantText(untilMs)}`);
    return 1;
  } finally {
    log.close();
  }
}

/** Prints versions; of those before the first that is wanted, the last one, which was in force then. */
class Telling {
  readonly #json: boolean;
  readonly #io: Io;
  #inForce: Version | null = null;
  #last: PastAnswer;
  count = 0;

  /** `before`: the status before the first record. */
  constructor(json: boolean, io: Io, before: number) {
    this.#json = json;
    this.#io = io;
    this.#last = { status: before, etag: null, body: '' };
  }

  before(version: Version): void {
    this.#inForce = version;
  }

  tell(version: Version): void {
    this.end();
    this.#print(version);
  }

  /** Prints what was in force at the start of what is wanted. */
  end(): void {
    const inForce = this.#inForce;
    this.#inForce = null;
    if (inForce) this.#print(inForce);
  }

  #print(version: Version): void {
    for (const line of this.#json ? [jsonOf(version)] : this.#linesOf(version)) this.#io.out(line);
    this.#last = version.answer;
    this.count++;
  }

  #linesOf({ atMs, answer, records }: Version): string[] {
    const what =
      records.length > 0 ? records.map((record) => placeText(placeOf(record))).join(', ') : 'midnight passed';
    const head = `${instantText(atMs)}  ${what}`;
    return [head, ...answerLines(this.#last, answer).map((line) => `  ${line}`)];
  }
}

/** What an answer has become, a line for each thing. */
export function answerLines(before: PastAnswer, after: PastAnswer): string[] {
  const status = before.status === after.status ? [] : [`status ${before.status} → ${after.status}`];
  const shown = ({ status, body }: PastAnswer): string => (status === 200 ? body : '');
  return [...status, ...differencesOf(shown(before), shown(after)).map(differenceText)];
}

function jsonOf({ atMs, answer, records }: Version): string {
  const { status, etag, body } = answer;
  return withRaw({ at: instantText(atMs), status, etag, records: records.map(placeOf) }, 'answer', body);
}
