/** What of a program's objects lives on: counted after a full collection. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Collects twice, a turn apart: what a finalizer or a promise holds goes with the second. */
async function collected(): Promise<void> {
  for (let time = 0; time < 2; time++) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    collect();
  }
}

export class Live<T extends object> {
  readonly #refs: WeakRef<T>[] = [];

  /** Counts it from now on. */
  add(object: T): T {
    this.#refs.push(new WeakRef(object));
    return object;
  }

  /** How many have been counted. */
  get made(): number {
    return this.#refs.length;
  }

  /** How many of them still live. */
  async left(): Promise<number> {
    await collected();
    return this.#refs.filter((ref) => ref.deref() !== undefined).length;
  }
}

/** The bytes of the heap that are in use. */
export async function heapBytes(): Promise<number> {
  await collected();
  return process.memoryUsage().heapUsed;
}
