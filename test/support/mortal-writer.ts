import type { ViewWriter } from '../../projector/ports/view-writer.ts';

/** A writer whose process can be killed: from then on nothing of it reaches the store, its goodbyes neither. */
interface MortalWriter {
  writer: ViewWriter;
  kill(): void;
  /** Resolves once it is killed. */
  killed: Promise<void>;
}

/** Dies by itself after so many batches. */
export function mortalWriter(writer: ViewWriter, commits = Number.POSITIVE_INFINITY): MortalWriter {
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  let [left, dead] = [commits, false];
  const kill = (): void => {
    dead = true;
    resolve();
  };
  const alive = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (dead) throw new Error('killed');
      return call(...args);
    };
  };
  const leadership = writer.leadership!;
  return {
    kill,
    killed,
    writer: {
      ...writer,
      commit: alive(async (...args) => {
        if (left-- > 0) return writer.commit(...args);
        kill();
        throw new Error('killed');
      }),
      leadership: {
        ...leadership,
        look: alive(leadership.look),
        coming: alive(leadership.coming),
        take: alive(leadership.take),
        free: alive(leadership.free),
      },
    },
  };
}
