/**
 * JSON as bytes in a string: each character is one byte of its UTF-8. Riders' answers are joined from such texts, because
 * joining strings copies nothing, and one write makes the answer of them.
 */
export type ByteText = string;

/** The bytes of a stored JSON. */
export const byteText = (bytes: Buffer): ByteText => bytes.toString('latin1');

/** The bytes of a text. */
export const byteTextOf = (text: string): ByteText => byteText(Buffer.from(text));

export const bytesOf = (text: ByteText): Buffer => Buffer.from(text, 'latin1');
