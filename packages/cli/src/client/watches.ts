/** Watches of the shell, which poll and print changes. */
import type { Connection } from 'mcp-actors/client';
import { describeFailure } from './exit-codes.ts';

/** Pause between two polls. */
const pauseMs = 2000;

export class Watches {
  readonly #print: (text: string) => void;
  readonly #ends = new Set<() => void>();

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  /** Polls now and every two seconds. Throws only the first failure. */
  async repeat(what: string, look: () => Promise<string>): Promise<void> {
    let last = await look();
    this.#print(last);
    let timer: NodeJS.Timeout;
    const again = async (): Promise<void> => {
      const text = await look().catch((error: unknown) => `${describeFailure(error)}\n`);
      if (!this.#ends.has(end)) return;
      if (text !== last) this.#print(`${what}:\n${text}`);
      last = text;
      timer = setTimeout(() => void again(), pauseMs);
    };
    const end = (): void => clearTimeout(timer);
    this.#ends.add(end);
    timer = setTimeout(() => void again(), pauseMs);
  }

  /** Reads now and whenever the server announces an update of the resource. */
  async updates(connection: Connection, uri: string, look: () => Promise<string>): Promise<void> {
    this.#print(await look());
    const subscription = connection.events$.subscribe((event) => {
      if (event.type !== 'notification' || event.method !== 'notifications/resources/updated')
        return;
      if (event.params?.['uri'] !== uri) return;
      look().then(
        (text) => this.#print(`${uri}:\n${text}`),
        (error: unknown) => this.#print(`${uri}: ${describeFailure(error)}\n`),
      );
    });
    this.#ends.add(() => {
      subscription.unsubscribe();
      void connection.unsubscribe(uri).catch(() => {});
    });
  }

  /** Stops all watches and returns their number. */
  end(): number {
    const ends = [...this.#ends];
    this.#ends.clear();
    for (const end of ends) end();
    return ends.length;
  }
}
