/**
 * Compares the output of a session with live handlers with its recording. Live handlers take real time, and the session's
 * request ids differ from the recorded ones.
 */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { McpSession } from '../../../../src/server/session.ts';
import type { ClosedLine } from '../format.ts';
import type { NumberedLine } from '../recording.ts';
import type { Difference } from './difference.ts';

/** Outputs not yet matched with a line of the recording, oldest first. */
export class UnclaimedOutputs<T> {
  readonly #outputs: T[] = [];
  readonly #patienceMs: number;
  #wake: () => void = () => {};

  /** @param patienceMs maximum wait for an expected output, real milliseconds */
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

  /** Takes the first matching output; undefined after the timeout. */
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
 * Ids of the session's own requests. A transcript uses names such as `$first`, a recording the recorded ids. A name is
 * bound to the id of the first matching request.
 */
export class RequestNames {
  readonly #ids = new Map<unknown, unknown>();
  readonly #isName: (id: unknown) => boolean;

  /** @param isName true if an id in the file is such a name */
  constructor(isName: (id: unknown) => boolean) {
    this.#isName = isName;
  }

  /**
   * Replaces names in an expected frame by ids. Binds an unbound name of a request to the id of `found`.
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
   * Replaces bound names in a value by ids. Recurses no deeper than JSON does, because a recorded result may nest deep.
   */
  fill<T>(value: T): T {
    if (this.#ids.size === 0) return value;
    const filled = (_: string, item: unknown) => (this.#ids.has(item) ? this.#ids.get(item) : item);
    return JSON.parse(JSON.stringify(value, filled)) as T;
  }

  /** True if the frame's id is an unbound name. */
  isUnbound(frame: unknown): boolean {
    return isJsonObject(frame) && this.#isName(frame['id']) && !this.#ids.has(frame['id']);
  }
}

/** Waits for the session to end as recorded. @returns the difference, if any */
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
