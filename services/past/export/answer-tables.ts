import type { Facts } from '../../../projector/facts/facts.ts';
import { valueViews } from '../../../projector/views/value-views.ts';
import { parseDay } from '../../../schemas/views/days.ts';
import type { PastAnswers } from '../past-answers.ts';
import type { Cell, Column } from './parquet-table.ts';

/** Tables of answers, as the calendar gives them at the instant of the export. */
export const answerTables = {
  days: [
    { name: 'metro', type: 'text' },
    { name: 'day', type: 'day' },
  ],
  ride_pages: [{ name: 'ride', type: 'text' }],
} as const satisfies Record<string, readonly Column[]>;
export type AnswerTable = keyof typeof answerTables;

/** Of every table of answers: the ETag with its quotes, and the answer's bytes. */
export const answerColumns: readonly Column[] = [
  { name: 'etag', type: 'text' },
  { name: 'answer', type: 'text' },
];

/** Each answer of a table that is there, with its key's cells. */
export async function eachAnswer(
  table: AnswerTable,
  facts: Facts,
  answers: PastAnswers,
  { clockMs, signal }: { clockMs: number; signal: AbortSignal },
  take: (row: Cell[]) => void,
): Promise<void> {
  const views = valueViews[table === 'days' ? 'day' : 'ride'];
  for (const view of views.all(facts)) {
    signal.throwIfAborted();
    const id = views.id(facts, view);
    const [metro, day] = id.split('/') as [string, string];
    const target = table === 'days' ? `/metros/${metro}/days/${day}` : `/rides/${id}`;
    const { status, etag, body } = await answers.ask({ target, rider: null }, clockMs);
    // A day without nights has a view no more than a ride that is not posted.
    if (status !== 200 || etag === '"empty"') continue;
    take([...(table === 'days' ? [metro, parseDay(day)] : [id]), etag, body]);
  }
}
