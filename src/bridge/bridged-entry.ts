/**
 * One server of a bridge, for all clients of the bridge: how a client gets to it. How its processes
 * and connections are kept and shared is decided here, and nowhere else.
 */
import { connect } from '../client/connect.ts';
import type { ConnectOptions } from '../client/connect.ts';
import type { ConnectionState } from '../client/connection/connection-streams.observable.ts';
import type { Connection } from '../client/connection/connection.ts';
import type { ServerEntry } from '../client/connection/options.ts';
import type { UpstreamClient } from '../define/upstream.ts';
import { RuntimeError } from '../protocol/errors.ts';
import { BridgedServer } from './bridged-server.ts';
import type { OpenedServer } from './bridged-server.ts';

/** How the clients of a bridge get to one of its servers. */
export interface BridgedEntryOptions extends ConnectOptions {
  /** Gets what the launched server writes to stderr. */
  readonly onStderr?: ((text: string) => void) | undefined;
}

/** Why a server is not of the legacy era. */
const ofOtherEra: ReadonlySet<string> = new Set(['VERSION_UNSUPPORTED', 'PROTOCOL_VIOLATION']);

export class BridgedEntry {
  readonly #entry: ServerEntry;
  readonly #options: ConnectOptions;
  readonly #onStderr: BridgedEntryOptions['onStderr'];
  /** Whether it has refused `initialize`. */
  #isModernOnly = false;

  constructor(entry: ServerEntry, { onStderr, ...options }: BridgedEntryOptions) {
    this.#entry = entry;
    this.#options = options;
    this.#onStderr = onStderr;
  }

  /**
   * Connects one client to the server, until the client's signal is aborted or the upstream closed.
   * A client of the legacy era that would have sent `initialize` does so: a server of both eras then
   * speaks the client's own.
   *
   * @param moved gets each state of the connection once it has been ready, the present one first
   * @throws {RuntimeError} why the server is not ready, as `connect`
   */
  async open(
    client: UpstreamClient,
    moved: (state: ConnectionState) => void = () => {},
  ): Promise<OpenedServer> {
    const { peer, signal } = client;
    const bridging = new BridgedServer(client, this.#options);
    const given: ConnectOptions = {
      ...this.#options,
      signal,
      clientInfo: peer.info,
      capabilities: peer.capabilities,
      listens: 'ready',
      ...bridging.hearing,
    };
    const over = (connection: Connection): OpenedServer => {
      connection.events$.subscribe((event) => {
        if (event.type === 'stderr') this.#onStderr?.(event.text);
      });
      connection.state$.subscribe(moved);
      return bridging.over(connection);
    };
    if (bridging.era === 'modern' || this.#options.era !== undefined || this.#isModernOnly) {
      return over(await connect(this.#entry, given));
    }
    try {
      return over(await connect(this.#entry, { ...given, era: 'legacy' }));
    } catch (error) {
      if (!(error instanceof RuntimeError) || !ofOtherEra.has(error.code)) throw error;
      this.#isModernOnly = true;
      return over(await connect(this.#entry, given));
    }
  }

  /** Ends what outlives a client. No client is connected, and none will be. */
  async close(): Promise<void> {}
}
