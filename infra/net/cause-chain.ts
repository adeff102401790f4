/** An error and its whole cause chain, including the errors of an AggregateError. */
export function* causeChain(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  yield* causeChain(error.cause);
  if (error instanceof AggregateError) for (const one of error.errors) yield* causeChain(one);
}
