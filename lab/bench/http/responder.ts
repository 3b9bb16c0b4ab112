/** Answers the server's `roots/list` requests of one call, each with a POST of its own. */
import { rootsAnswer } from '../measures/asking.ts';
import type { Message } from '../raw-client.ts';
import type { Connection } from './connection.ts';
import type { HttpClient, Session } from './http-client.ts';

/**
 * Answers requests of one chunk in reverse order, as connections become free, and the very first
 * request last. Answers may go to another node than the one that sent the request.
 */
export class Responder {
  readonly #client: HttpClient;
  readonly #session: Session;
  readonly #count: number;
  readonly #free: Connection[];
  readonly #waiting: object[] = [];
  readonly #done: () => void;
  #taken = 0;
  #accepted = 0;
  #first: object | undefined;
  /** Resolves when all answers have been accepted. */
  readonly done: Promise<void>;

  constructor(
    client: HttpClient,
    session: Session,
    count: number,
    connections: readonly Connection[],
  ) {
    this.#client = client;
    this.#session = session;
    this.#count = count;
    this.#free = [...connections];
    const { promise, resolve } = deferred();
    this.done = promise;
    this.#done = resolve;
  }

  readonly take = ({ id, method }: Message): void => {
    if (id === undefined || method !== 'roots/list') {
      return this.#client.fail(`an unexpected message: ${method}`);
    }
    this.#taken += 1;
    const answer = rootsAnswer(id, this.#taken);
    if (this.#taken === 1) this.#first = answer;
    else this.#waiting.push(answer);
  };

  /** All requests of a chunk have been received. */
  readonly answer = (): void => {
    if (this.#taken === this.#count && this.#first) {
      this.#waiting.unshift(this.#first);
      this.#first = undefined;
    }
    for (;;) {
      if (this.#waiting.length === 0) return;
      const connection = this.#free.pop();
      if (connection === undefined) return;
      void this.#post(connection, this.#waiting.pop() ?? {});
    }
  };

  async #post(connection: Connection, answer: object): Promise<void> {
    await this.#client.tell(connection, this.#session, answer);
    this.#free.push(connection);
    this.#accepted += 1;
    if (this.#accepted === this.#count) this.#done();
    else this.answer();
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settled) => {
    resolve = settled;
  });
  return { promise, resolve };
}
