import zlib from 'node:zlib';
import Negotiator from 'negotiator';
import { memoize } from './memoize.ts';

/**
 * JSON as bytes in a string: each character is one byte of its UTF-8. Answers are joined from such texts, because joining
 * strings copies nothing. The bytes are copied once, when the whole answer is sent.
 */
export type ByteText = string;

export const bytesOf = (body: Buffer | ByteText): Buffer =>
  typeof body === 'string' ? Buffer.from(body, 'latin1') : body;

/** A content coding that bodies are compressed by (RFC 9110 §8.4.1). */
interface Coding {
  name: 'zstd' | 'br' | 'gzip';
  /** Ends the ETags of this form. It names what the bytes depend on: the level, and the compressor's version. */
  tag: string;
  compress(body: Buffer): Buffer;
}

const { BROTLI_PARAM_QUALITY, ZSTD_c_compressionLevel } = zlib.constants;
const { zstd, brotli, zlib: deflate } = process.versions;

// The service's choice among what a request likes equally: zstd takes a seventh of brotli's time, and gives a fifth more bytes.
const codings: readonly Coding[] = [
  {
    name: 'zstd',
    tag: `-zstd3-${zstd}`,
    compress: (body) => zlib.zstdCompressSync(body, { params: { [ZSTD_c_compressionLevel]: 3 } }),
  },
  {
    name: 'br',
    tag: `-br5-${brotli}`,
    compress: (body) => zlib.brotliCompressSync(body, { params: { [BROTLI_PARAM_QUALITY]: 5 } }),
  },
  { name: 'gzip', tag: `-gzip6-${deflate}`, compress: (body) => zlib.gzipSync(body, { level: 6 }) },
];
const names = codings.map(({ name }) => name);

/** What an Accept-Encoding header asks for (RFC 9110 §12.5.3). Clients of one kind send the same one again and again. */
const wantedBy = memoize((header) => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': header } });
  // Its types are those of the version before `preferred`, which orders what the request likes equally.
  const encodings = negotiator.encodings as (available: string[], options: { preferred: string[] }) => string[];
  // Many who send `*` cannot decode zstd or br, but everybody can decode gzip.
  const named = header.split(',').map((each) => each.split(';')[0]!.trim().toLowerCase());
  const offered = [...names.filter((name) => name === 'gzip' || named.includes(name)), 'identity'];
  const liked = (preferred: string[]) => encodings.call(negotiator, offered, { preferred });
  const first = (preferred: string[]) => codings.find(({ name }) => name === liked(preferred)[0]) ?? null;
  return {
    /** Null: the body as it is. */
    coding: first(names),
    /** For a body that lives as long as the process: the smallest, since the time to compress it counts once. */
    lasting: first(['br', ...names]),
    refusesIdentity: !liked(names).includes('identity'),
  };
}, 256);

/** Below this many bytes a body is always sent as it is, even where identity is refused. */
const compressedMin = 1_000;
/** Below this many it is sent as a text, which Node copies behind the head in one piece: of others it makes a list first. */
const textMax = 15_000;

/** A body in one form. `coding` is null for the body as it is. */
interface Form {
  bytes: Buffer | ByteText;
  coding: Coding | null;
}

/**
 * A body and its compressed forms (docs/rules.md#compression). Each form is made once, from the second read
 * on: a body that is read once costs nothing more. `lasting`: it lives as long as the process, so each read may have one.
 */
export class EncodedBody {
  readonly #body: Buffer | ByteText;
  #text: ByteText | null = null;
  readonly #isLasting: boolean;
  #reads = 0;
  #forms: Map<Coding, Form> | null = null;

  constructor(body: Buffer | ByteText, { lasting = false } = {}) {
    this.#body = body;
    this.#isLasting = lasting;
  }

  /** The body as it is. A slice of it copies nothing. */
  get text(): ByteText {
    this.#text ??= typeof this.#body === 'string' ? this.#body : this.#body.toString('latin1');
    return this.#text;
  }

  /** The form for a request with this Accept-Encoding header. */
  formFor(acceptEncoding: string | undefined): Form {
    this.#reads += 1;
    const plain = { bytes: this.#body.length < textMax ? this.text : this.#body, coding: null };
    if (acceptEncoding === undefined || this.#body.length < compressedMin) return plain;
    const { coding: usual, lasting, refusesIdentity } = wantedBy(acceptEncoding);
    const coding = this.#isLasting ? lasting : usual;
    if (coding === null || (this.#reads < 2 && !this.#isLasting && !refusesIdentity)) return plain;
    this.#forms ??= new Map();
    let form = this.#forms.get(coding);
    if (form === undefined) {
      form = { bytes: coding.compress(bytesOf(this.#body)), coding };
      this.#forms.set(coding, form);
    }
    return form;
  }
}

/** The quoted ETags of all forms of an answer, first those that a request with this Accept-Encoding may get. */
export function etagsOf(tag: string, acceptEncoding: string | undefined): string[] {
  const { coding, lasting } = wantedBy(acceptEncoding ?? '');
  return [...new Set([coding, lasting, null, ...codings])].map((form) => etagOf(tag, form));
}

/** The ETag of one form: the content's tag, the coding, its level and its compressor's version. */
export const etagOf = (tag: string, coding: Coding | null): string => `"${tag}${coding?.tag ?? ''}"`;
