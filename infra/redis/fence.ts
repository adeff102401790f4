/** A tag's fence: who leads it (docs/rules.md#fence). Stored as `<epoch>:<sequence>:<owner>:<led or free>`. */
export interface Fence {
  /** When it was taken, in milliseconds since the epoch by the store's clock; NaN in a text that is no fence. */
  epoch: number;
  /** Goes up by one with each batch and beat. */
  sequence: number;
  /** The id of a projector's process. */
  owner: string;
  state: 'led' | 'free' | '';
}

/** An empty text, where nobody has led, has epoch 0 and no owner. */
export function parseFence(text: string): Fence {
  const [epoch = '0', sequence = '0', owner = '', state = ''] = text.split(':');
  return { epoch: Number(epoch), sequence: Number(sequence), owner, state: state as Fence['state'] };
}

export const fenceText = ({ epoch, sequence, owner, state }: Fence): string => `${epoch}:${sequence}:${owner}:${state}`;
