/**
 * What a session with live handlers does, compared with its recording: it takes real time, and
 * the ids of its own requests are not the recorded ones.
 */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import type { ClosedLine } from '../format.ts';
import type { NumberedLine } from '../recording.ts';
import type { Difference } from './difference.ts';

/** Outputs that no line of the recording has claimed yet, oldest first. */
export class UnclaimedOutputs<T> {
  readonly #outputs: T[] = [];
  readonly #patienceMs: number;
  #wake: () => void = () => {};

  /** @param patienceMs how long to wait for an output that is due, real milliseconds */
  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  add(output: T): void {
    this.#outputs.push(output);
    this.#wake();
  }

  get oldest(): T | undefined {
    return this.#outputs[0];
  }

  /** Claims the first output that matches; undefined if none comes in time. */
  async claim(matches: (output: T) => boolean = () => true): Promise<T | undefined> {
    const deadline = performance.now() + this.#patienceMs;
    for (;;) {
      const index = this.#outputs.findIndex(matches);
      if (index !== -1) return this.#outputs.splice(index, 1)[0];
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return undefined;
      await this.#nextOutput(leftMs);
    }
  }

  #nextOutput(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/**
 * The ids of the session's own requests. A transcript names them `$first`, a recording has those
 * of the recorded session. A name is bound to the id of the first request that it matches.
 */
export class RequestNames {
  readonly #ids = new Map<unknown, unknown>();
  readonly #isName: (id: unknown) => boolean;

  /** @param isName whether an id in the file is such a name */
  constructor(isName: (id: unknown) => boolean) {
    this.#isName = isName;
  }

  /**
   * What is expected, with ids in place of the names. If it is a request with a name that is not
   * bound yet, the name is bound to the id that `found` has.
   */
  bind(expected: unknown, found: unknown): unknown {
    if (isJsonObject(expected) && isJsonObject(found)) {
      const { id } = expected;
      if ('method' in expected && this.#isName(id) && !this.#ids.has(id)) {
        this.#ids.set(id, found['id']);
      }
    }
    return this.fill(expected);
  }

  /**
   * The same value with ids in place of the names that are bound. It recurses no deeper than JSON
   * does: a recorded result may nest deep.
   */
  fill<T>(value: T): T {
    if (this.#ids.size === 0) return value;
    const filled = (_: string, item: unknown) => (this.#ids.has(item) ? this.#ids.get(item) : item);
    return JSON.parse(JSON.stringify(value, filled)) as T;
  }

  /** Whether the frame has a name as its id that is not bound yet. */
  isUnbound(frame: unknown): boolean {
    return isJsonObject(frame) && this.#isName(frame['id']) && !this.#ids.has(frame['id']);
  }
}

/** Waits for the session to end as the line says. Gives the difference if it does not. */
export async function compareEnd(
  { closed }: McpSession,
  { number, line }: NumberedLine<ClosedLine>,
  patienceMs: number,
): Promise<Difference | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined = undefined;
  const outOfPatience = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patienceMs);
  });
  const cause = await Promise.race([closed, outOfPatience]);
  clearTimeout(timer);
  if (cause?.kind === line.closed) return undefined;
  if (!cause) return { problem: 'the session does not end', number, recorded: line };
  const problem = 'the session ends for another cause';
  return { problem, number, recorded: line, replayed: { closed: cause.kind } };
}
