import { connect, type Socket } from 'node:net';
import { developerKey, probes, sharedNowMs } from './live-chain.ts';

const pauseMs = 1;

/** Reads a probe's ride over HTTP, again and again, and says when it first had which number. */
export class ProbeReader {
  readonly #socket: Socket;
  readonly #request: Buffer;
  readonly #onRead: (seq: number, atMs: number) => void;
  #last = -1;
  #text = '';

  constructor(port: number, probe: number, onRead: (seq: number, atMs: number) => void) {
    this.#onRead = onRead;
    this.#request = Buffer.from(
      `GET /api/rides/${probes[probe]} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Api-Key: ${developerKey}\r\n\r\n`,
    );
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => this.#ask());
    this.#socket.on('data', (chunk) => this.#take(chunk));
  }

  end(): void {
    this.#socket.destroy();
  }

  #ask(): void {
    if (!this.#socket.destroyed) this.#socket.write(this.#request);
  }

  #take(chunk: Buffer): void {
    this.#text += chunk.toString('latin1');
    const head = this.#text.indexOf('\r\n\r\n');
    if (head < 0) return;
    const bodyBytes = Number(/^content-length: (\d+)/im.exec(this.#text.slice(0, head))?.[1] ?? 0);
    if (this.#text.length < head + 4 + bodyBytes) return;
    const seq = Number(/"title":"Probe (\d+)"/.exec(this.#text)?.[1] ?? -1);
    this.#text = '';
    if (seq > this.#last) {
      this.#last = seq;
      this.#onRead(seq, sharedNowMs());
    }
    setTimeout(() => this.#ask(), pauseMs);
  }
}
