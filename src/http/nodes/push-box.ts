import type { PushLimits } from './mailbox.ts';

/** The pushes of one session that wait for its client, in memory: who holds them, and what was taken but not yet written. */
export class PushBox {
  readonly #limits: PushLimits;
  #waiting: string[] = [];
  #bytes = 0;
  #dropped = 0;
  readonly #inHand = new Map<string, string[]>();
  /** The stream that gets them. */
  holder: string | undefined;

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  get hasWaiting(): boolean {
    return this.#waiting.length > 0;
  }

  add(text: string): void {
    this.#put([...this.#waiting, text]);
  }

  /** A stream is gone: what was in its hand waits again, before everything else. */
  recover(stream: string): void {
    const texts = this.#inHand.get(stream) ?? [];
    this.#inHand.delete(stream);
    if (this.holder === stream) this.holder = undefined;
    this.#put([...texts, ...this.#waiting]);
  }

  /** Recovers from the streams that are gone. */
  recoverUnless(isThere: (stream: string) => boolean): void {
    const streams = new Set([
      ...this.#inHand.keys(),
      ...(this.holder === undefined ? [] : [this.holder]),
    ]);
    for (const stream of streams) if (!isThere(stream)) this.recover(stream);
  }

  take(stream: string): { readonly texts: readonly string[]; readonly dropped: number } {
    const [texts, dropped] = [this.#waiting, this.#dropped];
    const inHand = this.#inHand.get(stream) ?? [];
    if (texts.length > 0) this.#inHand.set(stream, [...inHand, ...texts]);
    [this.#waiting, this.#bytes, this.#dropped] = [[], 0, 0];
    return { texts, dropped };
  }

  written(stream: string, count: number): void {
    const rest = this.#inHand.get(stream)?.slice(count) ?? [];
    if (rest.length > 0) this.#inHand.set(stream, rest);
    else this.#inHand.delete(stream);
  }

  #put(texts: string[]): void {
    this.#waiting = texts;
    this.#bytes = texts.reduce((sum, { length }) => sum + length, 0);
    const { maxPushes, maxPushBytes } = this.#limits;
    while (this.#waiting.length > maxPushes || this.#bytes > maxPushBytes) {
      this.#bytes -= this.#waiting.shift()?.length ?? 0;
      this.#dropped++;
    }
  }
}
