/** The commands: each is a call of the library. */
import { RuntimeError, errorOfLoss, openConnection, openServers } from 'mcp-actors/client';
import type {
  Connection,
  ConnectionEvent,
  ConnectionState,
  RequestOptions,
  Root,
  ServerEntry,
  ServerProfile,
  Servers,
} from 'mcp-actors/client';
import { connectOptions, errorText, stateText } from './translation.ts';
import type { DriverOptions } from './translation.ts';

type Json = { readonly [key: string]: unknown };

/** A line of stdin. Which members there are depends on `op`. */
export interface Command {
  readonly op: string;
  readonly ref: string;
  readonly name?: string;
  readonly server?: ServerEntry;
  readonly config?: object;
  readonly options?: DriverOptions;
  readonly tool?: string;
  readonly arguments?: Json;
  readonly method?: string;
  readonly params?: Json;
  readonly uri?: string;
  readonly roots?: readonly Root[];
  readonly refresh?: boolean;
  readonly timeoutMs?: number;
  readonly maxTotalMs?: number;
  readonly progress?: boolean;
  readonly target?: string;
  readonly reason?: string;
}

/** The command is wrong. */
class ConfigError extends RangeError {}

export class Driver {
  readonly #tell: (event: object) => void;
  readonly #connections = new Map<string, Connection>();
  /** What each was opened with. */
  readonly #entries = new Map<string, { readonly server: ServerEntry; options?: DriverOptions }>();
  readonly #managers: Servers[] = [];
  /** The commands that can be cancelled. */
  readonly #running = new Map<string, AbortController>();

  constructor(tell: (event: object) => void) {
    this.#tell = tell;
  }

  readonly #ops: { readonly [op: string]: (command: Command, signal: AbortSignal) => unknown } = {
    connect: (command, signal) => this.#connect(command, signal),
    manager: (command, signal) => this.#manager(command, signal),
    servers: () => this.#servers(),
    state: ({ name }) => this.#state(name),
    listTools: (command, signal) => this.#listTools(command, this.#requestOptions(command, signal)),
    callTool: ({ name, tool = '', arguments: args, ...command }, signal) => {
      const options = this.#requestOptions(command, signal);
      return name === undefined
        ? this.#tools().callTool(tool, args, options)
        : this.#named(name).callTool(tool, args, options);
    },
    request: ({ name, method = '', params, ...command }, signal) =>
      this.#named(name).request(method, params, this.#requestOptions(command, signal)),
    readResource: ({ name, uri = '' }, signal) => this.#named(name).readResource(uri, { signal }),
    subscribe: ({ name, uri = '' }, signal) => this.#named(name).subscribe(uri, { signal }),
    setRoots: ({ name, roots = [] }, signal) => this.#named(name).setRoots(roots, { signal }),
    cancel: ({ target = '', reason }) => this.#running.get(target)?.abort(reason),
    stderr: ({ name }) => this.#named(name).stderr,
    reconnect: async ({ name }, signal) => profileText(await this.#reconnect(name, signal)),
    // What is being ended ends, even if nobody waits for it any more.
    close: ({ name }, signal) => unlessCancelled(this.#named(name).close(), signal),
    shutdown: (_, signal) => unlessCancelled(this.shutdown(), signal),
  };

  knows(op: string): boolean {
    return Object.hasOwn(this.#ops, op);
  }

  /** Resolves to the value of the result. */
  async run(command: Command): Promise<unknown> {
    const controller = new AbortController();
    this.#running.set(command.ref, controller);
    try {
      return (await this.#ops[command.op]?.(command, controller.signal)) ?? {};
    } finally {
      this.#running.delete(command.ref);
    }
  }

  async shutdown(): Promise<void> {
    const all = [...this.#managers, ...this.#connections.values()];
    await Promise.all(all.map((each) => each.close()));
  }

  async #connect({ name, server, options }: Command, signal: AbortSignal): Promise<Json> {
    if (name === undefined || !server) throw new ConfigError('connect needs a name and a server');
    for (let before; (before = this.#connections.get(name));) {
      if (!['failed', 'closing', 'closed'].includes(before.state.value)) {
        throw new ConfigError(`There is a connection ${name} already: close it first`);
      }
      await unlessCancelled(before.close(), signal);
      if (this.#connections.get(name) === before) this.#connections.delete(name);
    }
    const connection = this.#open(name, server, options);
    try {
      return profileText(await connection.ready({ signal }));
    } catch (error) {
      if (signal.aborted) void connection.close();
      throw error;
    }
  }

  /** Known by its name at once: the next command may already be for it. */
  #open(name: string, server: ServerEntry, options?: DriverOptions): Connection {
    const connection = openConnection(server, { ...connectOptions(options), name });
    this.#connections.set(name, connection);
    this.#entries.set(name, { server, ...(options ? { options } : {}) });
    connection.events$.subscribe((event) => this.#happened(name, event));
    if (options?.watch) {
      connection.tools$.subscribe(({ state, items }) => {
        if (state === 'known') this.#toolsOf(name, items);
      });
    }
    return connection;
  }

  /** A connection that was closed is closed for good: another one takes its place. */
  async #reconnect(name = '', signal: AbortSignal): Promise<ServerProfile> {
    const connection = this.#named(name);
    const entry = this.#entries.get(name);
    if (!['closing', 'closed'].includes(connection.state.value) || !entry) {
      return connection.reconnect({ signal });
    }
    await unlessCancelled(connection.close(), signal);
    return this.#open(name, entry.server, entry.options).ready({ signal });
  }

  async #manager({ config, options }: Command, signal: AbortSignal): Promise<Json> {
    if (!config) throw new ConfigError('manager needs a config');
    const servers = openServers(config, {
      ...connectOptions(options),
      ...(options?.startupMs === undefined ? {} : { startupMs: options.startupMs }),
      cacheFolder: false,
    });
    this.#managers.push(servers);
    servers.events$.subscribe((happened) => {
      if (happened.type !== 'connection') return;
      const { server, event } = happened;
      if (event.type === 'tools' && options?.watch && event.report.state === 'known') {
        this.#toolsOf(server, event.report.items);
      } else this.#happened(server, event);
    });
    try {
      await unlessCancelled(servers.started(), signal);
    } catch (error) {
      void servers.close();
      throw error;
    }
    return { servers: statusText(servers) };
  }

  #servers(): Json {
    const own = [...this.#connections].map(([name, { state, launches }]) => [
      name,
      { state: state.value, ...failure(state), launches },
    ]);
    return Object.assign(Object.fromEntries(own), ...this.#managers.map(statusText)) as Json;
  }

  #state(name: string | undefined): Json {
    const { state, server, pending, launches } = this.#named(name);
    return {
      state: state.value,
      ...(server ? { era: server.era, revision: server.revision } : {}),
      pending,
      launches,
      ...failure(state),
    };
  }

  async #listTools(
    { name, refresh = false }: Command,
    options: RequestOptions,
  ): Promise<{ readonly tools: readonly object[] }> {
    const lists = name === undefined ? this.#tools() : this.#named(name);
    return { tools: await lists.listTools({ ...options, refresh }) };
  }

  #requestOptions(
    { ref, timeoutMs, maxTotalMs, progress = false }: Command,
    signal: AbortSignal,
  ): RequestOptions {
    const longestMs = maxTotalMs ?? timeoutMs;
    return {
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      // Without a maxTotalMs, progress begins no time anew.
      ...(longestMs === undefined ? {} : { maxTotalMs: longestMs }),
      ...(progress || maxTotalMs !== undefined
        ? { onProgress: (report) => this.#tell({ event: 'progress', ref, ...report }) }
        : {}),
    };
  }

  #named(name = ''): Connection {
    const found =
      this.#connections.get(name) ?? this.#managers.map((each) => each.get(name)).find(Boolean);
    if (found) return found;
    throw new ConfigError(`There is no connection ${JSON.stringify(name)}`);
  }

  /** The servers whose merged list is meant where no name is given. */
  #tools(): Servers {
    const [servers] = this.#managers;
    if (servers) return servers;
    throw new ConfigError('There is no manager: give the name of a connection');
  }

  #toolsOf(name: string, tools: readonly { readonly name: string }[]): void {
    this.#tell({ event: 'tools', name, tools: tools.map((tool) => tool.name) });
  }

  #happened(name: string, event: ConnectionEvent): void {
    const { type } = event;
    switch (type) {
      case 'state': {
        const state = stateText(event.state);
        if (state) this.#tell({ event: type, name, ...state });
        return;
      }
      case 'asked':
      case 'notification':
        this.#tell({ event: type, name, method: event.method, params: event.params });
        return;
      case 'withdrawn':
        this.#tell({ event: type, name, method: event.method });
        return;
      case 'problem':
        this.#tell({ event: type, name, message: event.message });
        return;
      case 'authorize':
        this.#tell({ event: type, name, url: event.url });
        return;
      case 'stderr':
      case 'tools':
    }
  }
}

/** @throws {RuntimeError} CANCELLED: nobody waits for it any more */
async function unlessCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = () => {
      const cause: unknown = signal.reason;
      reject(new RuntimeError('CANCELLED', 'Nobody waits for it any more', { cause }));
    };
    if (signal.aborted) cancel();
    else signal.addEventListener('abort', cancel, { once: true });
  });
  return Promise.race([work, cancelled]);
}

function profileText({
  era,
  revision,
  info: serverInfo,
  capabilities,
  instructions,
}: ServerProfile): Json {
  return {
    era,
    revision,
    serverInfo,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
  };
}

const failure = ({ value, loss }: ConnectionState): Json =>
  value !== 'ready' && loss ? { error: errorText(errorOfLoss(loss)) } : {};

function statusText({ status }: Servers): Json {
  return Object.fromEntries(
    [...status].map(([name, { state, error, launches }]) => [
      name,
      { state, ...(error ? { error: errorText(error) } : {}), launches },
    ]),
  );
}
