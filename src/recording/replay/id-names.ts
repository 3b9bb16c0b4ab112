/**
 * The ids of a session's own requests under other names: a transcript calls them `$first`, a recording has those of the recorded session. The
 * first time that a request is matched its name is bound to the id that it has now.
 */
import { isJsonObject } from '../../protocol/classify.ts';

export class IdNames {
  readonly #ids = new Map<unknown, unknown>();
  readonly #isName: (id: unknown) => boolean;

  /** @param isName whether an id in the file is a name */
  constructor(isName: (id: unknown) => boolean) {
    this.#isName = isName;
  }

  /** What is expected, with the names replaced; a name that is not bound yet is bound to what `found` has there. */
  expect(expected: unknown, found: unknown): unknown {
    if (isJsonObject(expected) && isJsonObject(found)) {
      const { id } = expected;
      if ('method' in expected && this.#isName(id) && !this.#ids.has(id)) {
        this.#ids.set(id, found['id']);
      }
    }
    return this.fill(expected);
  }

  /** The same without binding anything. It recurses no more than JSON does: a recorded result may nest deep. */
  fill(value: unknown): unknown {
    if (this.#ids.size === 0) return value;
    const named = (_: string, item: unknown) => (this.#ids.has(item) ? this.#ids.get(item) : item);
    return JSON.parse(JSON.stringify(value, named)) as unknown;
  }

  /** True where the request could be the one of that name: the same but for its id. */
  isUnbound(expected: unknown): boolean {
    return isJsonObject(expected) && this.#isName(expected['id']) && !this.#ids.has(expected['id']);
  }
}
