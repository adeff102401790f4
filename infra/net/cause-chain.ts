/** An error, and everything behind it: its causes, and the errors it stands for. */
export function* causeChain(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  yield* causeChain(error.cause);
  if (error instanceof AggregateError) for (const one of error.errors) yield* causeChain(one);
}
