import { takeAll } from '../../../projector/leading/standby.ts';
import type { ViewWriter } from '../../../projector/ports/view-writer.ts';
import { allTags } from '../../../schemas/views/view-keys.ts';

/** Takes all tags at once, whoever leads. Of a store without fences there is nothing to take. */
export async function lead({ leadership }: ViewWriter, tags: readonly number[] = allTags): Promise<void> {
  if (!leadership) return;
  const seen = await leadership.look(tags);
  const taken = await takeAll(
    leadership,
    tags,
    seen.map(({ fence }) => fence),
  );
  if (!taken) throw new Error('another writer has taken the tags meanwhile');
}

/** Says that tags are complete, as a leader does: in the process that answers. */
export async function complete(writer: ViewWriter, tags: readonly number[]): Promise<void> {
  await Promise.all(
    tags.map(async (tag) => {
      const asked = await writer.commit(tag, [], { stamp: '' });
      if (asked.committed) await writer.commit(tag, [], { stamp: asked.process });
    }),
  );
}
