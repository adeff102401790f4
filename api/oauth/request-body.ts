import type { IncomingMessage } from 'node:http';

/** Why a body could not be read: a status, and a message for the sender. */
export class BodyError extends Error {
  override name = 'BodyError';
  readonly status: 400 | 413 | 415;
  constructor(status: 400 | 413 | 415, message: string) {
    super(message);
    this.status = status;
  }
}

/** The largest legitimate body, a registration with ten redirect URIs, has about 4 kB. */
const bodyBytesMax = 16 * 1024;

/** Reads a body of a media type. Throws BodyError if it is too long or of another type. */
export async function readBody(request: IncomingMessage, mediaType: string): Promise<string> {
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase();
  if (type !== mediaType) throw new BodyError(415, `the body must be ${mediaType}`);
  if (request.headers['content-encoding'] !== undefined) throw new BodyError(415, 'the body must not be encoded');
  const tooLong = (): BodyError => new BodyError(413, `the body is longer than ${bodyBytesMax} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) throw tooLong();
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bodyBytesMax) throw tooLong();
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof BodyError) throw cause;
    throw new BodyError(400, 'the body ended early');
  }
  return Buffer.concat(chunks).toString();
}

export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await readBody(request, 'application/x-www-form-urlencoded'));
}
