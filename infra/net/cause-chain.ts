/** An error and its causes in one line, e.g. `Cannot load: disk full`. Leaves out a cause that a message repeats. */
export function causeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = error.message || error.name;
  const { cause } = error;
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${causeText(cause)}` : message;
}

/** An error and its whole cause chain, including the errors of an AggregateError. */
export function* causeChain(error: unknown): Generator<Error> {
  if (!(error instanceof Error)) return;
  yield error;
  yield* causeChain(error.cause);
  if (error instanceof AggregateError) for (const one of error.errors) yield* causeChain(one);
}
