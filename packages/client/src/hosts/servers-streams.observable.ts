/** Events of many servers, as observables. */
import { BehaviorSubject, Observable, Subject, Subscription } from 'rxjs';
import { isDeepStrictEqual } from 'node:util';
import type { Connection } from '../connection/connection.ts';
import type { MergedTool, ServersEvent } from './server-reports.ts';

/** Observables of many servers. Both complete when the servers are closed, and never fail. */
export interface ServersStreams {
  /** The merged tool list: the current one, then the complete list after every change. */
  readonly tools$: Observable<readonly MergedTool[]>;
  /** Events of every connection. Events before the first listener are buffered, up to a limit. */
  readonly events$: Observable<ServersEvent>;
}

/** Sources of the streams. */
export class ServersFeed implements ServersStreams {
  readonly tools$: Observable<readonly MergedTool[]>;
  readonly events$: Observable<ServersEvent>;
  readonly #tools = new BehaviorSubject<readonly MergedTool[]>([]);
  readonly #opened = new Subject<Connection>();
  readonly #own = new Subject<ServersEvent>();

  /** @param connections the current connections */
  constructor(connections: () => Iterable<Connection>) {
    this.tools$ = this.#tools.asObservable();
    this.events$ = new Observable((subscriber) => {
      const subscription = new Subscription();
      const listen = ({ name: server, events$ }: Connection) =>
        subscription.add(
          events$.subscribe((event) => subscriber.next({ type: 'connection', server, event })),
        );
      subscription.add(this.#opened.subscribe(listen));
      for (const connection of connections()) listen(connection);
      subscription.add(this.#own.subscribe(subscriber));
      return () => subscription.unsubscribe();
    });
  }

  /** The last emitted tool list. */
  get tools(): readonly MergedTool[] {
    return this.#tools.value;
  }

  /** Emits the list if it differs from the last one. */
  tell(tools: readonly MergedTool[]): void {
    if (!isDeepStrictEqual(tools, this.#tools.value)) this.#tools.next(tools);
  }

  opened(connection: Connection): void {
    this.#opened.next(connection);
  }

  happened(event: ServersEvent): void {
    this.#own.next(event);
  }

  complete(): void {
    this.#tools.complete();
    this.#own.complete();
  }
}
