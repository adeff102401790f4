import type { TagNotes, ViewWrite, ViewWriter } from '../../../projector/ports/view-writer.ts';

interface WriterHooks {
  /** Before a batch is written; what it throws, the writer throws, and nothing is written. */
  before?(tag: number, writes: readonly ViewWrite[], notes: TagNotes): void | Promise<void>;
  /** After a batch was written; what it throws is a reply that was lost. */
  after?(tag: number, writes: readonly ViewWrite[], notes: TagNotes): void | Promise<void>;
}

/** A store's own writer, with a test looking on. */
export function watchedWriter(writer: ViewWriter, { before, after }: WriterHooks): ViewWriter {
  return {
    ...writer,
    async commit(tag, writes, notes = {}) {
      await before?.(tag, writes, notes);
      const result = await writer.commit(tag, writes, notes);
      if (result.committed) await after?.(tag, writes, notes);
      return result;
    },
  };
}
