/** What the shell watches: it is polled, and printed when it has changed. */
import type { Connection } from 'mcp-actors/client';
import { textOfFailure } from './exit-codes.ts';

/** How long after one look the next one comes. */
const pauseMs = 2000;

export class Watches {
  readonly #print: (text: string) => void;
  readonly #ends = new Set<() => void>();

  constructor(print: (text: string) => void) {
    this.#print = print;
  }

  /** Polls now and every two seconds. The first failure is thrown to the caller. */
  async repeat(what: string, look: () => Promise<string>): Promise<void> {
    let last = await look();
    this.#print(last);
    let timer: NodeJS.Timeout;
    const again = async (): Promise<void> => {
      const text = await look().catch((error: unknown) => `${textOfFailure(error)}\n`);
      if (!this.#ends.has(end)) return;
      if (text !== last) this.#print(`${what}:\n${text}`);
      last = text;
      timer = setTimeout(() => void again(), pauseMs);
    };
    const end = (): void => clearTimeout(timer);
    this.#ends.add(end);
    timer = setTimeout(() => void again(), pauseMs);
  }

  /** Looks now and whenever the server says that the resource has changed. */
  async updates(connection: Connection, uri: string, look: () => Promise<string>): Promise<void> {
    this.#print(await look());
    const subscription = connection.events$.subscribe((event) => {
      if (event.type !== 'notification' || event.method !== 'notifications/resources/updated')
        return;
      if (event.params?.['uri'] !== uri) return;
      look().then(
        (text) => this.#print(`${uri}:\n${text}`),
        (error: unknown) => this.#print(`${uri}: ${textOfFailure(error)}\n`),
      );
    });
    this.#ends.add(() => {
      subscription.unsubscribe();
      void connection.unsubscribe(uri).catch(() => {});
    });
  }

  /** Ends all of them, and gives how many there were. */
  end(): number {
    const ends = [...this.#ends];
    this.#ends.clear();
    for (const end of ends) end();
    return ends.length;
  }
}
