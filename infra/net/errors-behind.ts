/** An error, and everything behind it: its causes, and the errors it stands for. */
export function* errorsBehind(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  yield* errorsBehind(error.cause);
  if (error instanceof AggregateError) for (const one of error.errors) yield* errorsBehind(one);
}
