/** Executes commands, each of which is a call of the library. */
import { RuntimeError, disconnectError, openConnection, openServers } from 'mcp-actors/client';
import type {
  Connection,
  ConnectionEvent,
  ListReport,
  HostRequestOptions,
  ServerStatus,
  Servers,
  ListedTool,
} from 'mcp-actors/client';
import { CommandError } from './command.ts';
import type { Command, Json } from './command.ts';
import { connectOptions, errorText, profileText, stateName, stateText } from './translation.ts';

/** Owner of a name: a connection with the command that opened it, or a manager. */
type Held = { readonly connection: Connection; readonly command: Command } | Servers;

export class Driver {
  readonly #tell: (event: object) => void;
  readonly #held = new Map<string, Held>();
  /** The latest manager. */
  #manager: Servers | undefined;
  readonly #running = new Map<string, AbortController>();
  /** The last reported states. */
  readonly #told = new Map<string, unknown>();
  #end: Promise<void> | undefined;

  constructor(tell: (event: object) => void) {
    this.#tell = tell;
  }

  readonly #ops: { readonly [op: string]: (command: Command, signal: AbortSignal) => unknown } = {
    connect: (command, signal) => this.#connect(command, signal),
    manager: (command, signal) => this.#manage(command, signal),
    servers: () =>
      Object.fromEntries(
        [...this.#held].map(([name, held]) => {
          const { launches } = statusOf(held, name);
          return [name, { ...stateIn(held, name), launches }];
        }),
      ),
    state: ({ name = '' }) => this.#state(name),
    listTools: async ({ name, refresh = false, ...command }, signal) => {
      const options = { ...this.#requestOptions(command, signal), refresh };
      const tools =
        name === undefined
          ? this.#merged(options)
          : this.#with<readonly object[]>(name, signal, (its) => its.listTools(options));
      return { tools: await tools };
    },
    callTool: ({ name, tool = '', arguments: args, ...command }, signal) => {
      const options = this.#requestOptions(command, signal);
      return name === undefined
        ? this.#tools().callTool(tool, args, options)
        : this.#with(name, signal, (its) => its.callTool(tool, args, options));
    },
    request: ({ name = '', method = '', params, ...command }, signal) => {
      const options = this.#requestOptions(command, signal);
      return this.#with(name, signal, (its) => its.request(method, params, options));
    },
    readResource: ({ name = '', uri = '', ...command }, signal) => {
      const options = this.#requestOptions(command, signal);
      return this.#with(name, signal, (its) => its.readResource(uri, options));
    },
    subscribe: ({ name = '', uri = '', ...command }, signal) => {
      const options = this.#requestOptions(command, signal);
      return this.#with(name, signal, (its) => its.subscribe(uri, options));
    },
    setRoots: ({ name = '', roots = [] }, signal) =>
      this.#with(name, signal, (its) => its.setRoots(roots, { signal })),
    cancel: ({ target = '', reason }) => this.#running.get(target)?.abort(reason),
    stderr: ({ name = '' }) =>
      connectionIn(this.#owner(name), name)?.stderr ?? { text: '', bytes: 0 },
    reconnect: ({ name = '' }, signal) => this.#reconnect(name, signal),
    // Closing continues even if the command is cancelled.
    close: ({ name = '' }, signal) => unlessCancelled(this.#close(name), signal),
    shutdown: (_, signal) => unlessCancelled(this.shutdown(), signal),
  };

  isRunning(ref: string): boolean {
    return this.#running.has(ref);
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

  /** Closes everything and prevents opening anything later. */
  shutdown(): Promise<void> {
    const all = new Set(
      [...this.#held.values()].map((held) => ('connection' in held ? held.connection : held)),
    );
    this.#end ??= Promise.all([...all].map((each) => each.close())).then(() => {});
    return this.#end;
  }

  async #connect(command: Command, signal: AbortSignal): Promise<Json> {
    const { name = '' } = command;
    for (let before; (before = this.#held.get(name));) {
      refuseInUse(before, name);
      await unlessCancelled(Promise.resolve(connectionIn(before, name)?.close()), signal);
      if (this.#held.get(name) === before) this.#held.delete(name);
    }
    const connection = this.#open(command);
    try {
      return profileText(await connection.ready({ signal }));
    } catch (error) {
      if (signal.aborted) void connection.close();
      throw error;
    }
  }

  /** Registered synchronously, because the next command may already use the name. */
  #open(command: Command): Connection {
    this.#refuseEnd();
    const { name = '', server = { command: '' }, options } = command;
    const connection = openConnection(server, { ...connectOptions(options), name });
    this.#held.set(name, { connection, command });
    connection.events$.subscribe((event) => this.#happened(name, event));
    if (options?.watch) connection.tools$.subscribe((report) => this.#listed(name, report));
    return connection;
  }

  async #manage({ config = {}, options }: Command, signal: AbortSignal): Promise<Json> {
    this.#refuseEnd();
    const servers = openServers(config, {
      ...connectOptions(options),
      ...(options?.startupMs === undefined ? {} : { startupMs: options.startupMs }),
      cacheFolder: false,
    });
    try {
      for (const name of servers.status.keys()) {
        const before = this.#held.get(name);
        if (before) refuseInUse(before, name);
      }
      for (const name of servers.status.keys()) this.#held.set(name, servers);
      this.#manager = servers;
      servers.events$.subscribe((happened) => {
        if (happened.type === 'connection') this.#happened(happened.server, happened.event);
        if (happened.type === 'tools' && options?.watch) {
          this.#listed(happened.server, happened.report);
        }
      });
      await unlessCancelled(servers.started(), signal);
    } catch (error) {
      void servers.close();
      throw error;
    }
    const status = [...servers.status.keys()].map((name) => [name, stateIn(servers, name)]);
    return { servers: Object.fromEntries(status) as Json };
  }

  #state(name: string): Json {
    const held = this.#owner(name);
    const { server, pending = 0 } = connectionIn(held, name) ?? {};
    const { launches } = statusOf(held, name);
    return {
      ...stateIn(held, name),
      ...(server ? { era: server.era, revision: server.revision } : {}),
      pending,
      launches,
    };
  }

  async #reconnect(name: string, signal: AbortSignal): Promise<Json> {
    const held = this.#owner(name);
    const before = connectionIn(held, name);
    const isOpen = before && !['closing', 'closed'].includes(before.state.value);
    return profileText(
      await (isOpen
        ? before.reconnect({ signal })
        : (await this.#anew(held, name, signal)).ready({ signal })),
    );
  }

  /** A closed connection cannot be reopened: open a new one in its place. */
  async #anew(before: Held, name: string, signal: AbortSignal): Promise<Connection> {
    if (!('connection' in before)) return unlessCancelled(before.use(name), signal);
    await unlessCancelled(before.connection.close(), signal);
    const held = this.#owner(name);
    if (held === before) return this.#open(before.command);
    return connectionIn(held, name) ?? this.#anew(held, name, signal);
  }

  async #close(name: string): Promise<void> {
    const held = this.#owner(name);
    if (!('connection' in held) && held.status.get(name)?.state === 'connecting') {
      await held.use(name);
    }
    await connectionIn(held, name)?.close();
  }

  #requestOptions(
    { ref, timeoutMs, maxTotalMs, progress = false }: Command,
    signal: AbortSignal,
  ): HostRequestOptions & { readonly signal: AbortSignal } {
    const longestMs = maxTotalMs ?? timeoutMs;
    return {
      signal,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      // Without maxTotalMs, progress does not extend the timeout.
      ...(longestMs === undefined ? {} : { maxTotalMs: longestMs }),
      ...(progress || maxTotalMs !== undefined
        ? { onProgress: (report) => this.#tell({ event: 'progress', ref, ...report }) }
        : {}),
    };
  }

  #owner(name: string): Held {
    const held = this.#held.get(name);
    if (held) return held;
    throw new CommandError(`There is no connection ${JSON.stringify(name)}`);
  }

  /** Synchronous if there is a connection, because the next command may depend on its state. */
  #with<T>(
    name: string,
    signal: AbortSignal,
    use: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const held = this.#owner(name);
    const connection = connectionIn(held, name);
    if (connection) return use(connection);
    return unlessCancelled((held as Servers).use(name), signal).then(use);
  }

  /** Slow servers do not delay the others. */
  async #merged(
    options: HostRequestOptions & { readonly signal: AbortSignal; readonly refresh: boolean },
  ): Promise<readonly ListedTool[]> {
    const servers = this.#tools();
    await unlessCancelled(servers.started(), options.signal);
    return servers.listTools({ ...options, whenAway: 'refuse' });
  }

  /** The servers used for commands without a name. */
  #tools(): Servers {
    if (this.#manager) return this.#manager;
    throw new CommandError('There is no manager: give the name of a connection');
  }

  #refuseEnd(): void {
    if (this.#end) throw new RuntimeError('NOT_READY', 'The driver ends, and opens nothing more');
  }

  #listed(name: string, { state, items }: ListReport<ListedTool>): void {
    if (state !== 'known') return;
    this.#tell({ event: 'tools', name, tools: items.map((tool) => tool.name) });
  }

  #happened(name: string, event: ConnectionEvent): void {
    const { type } = event;
    switch (type) {
      case 'state': {
        const { value } = event.state;
        // A loss is reported by the state that follows; attempts that no longer count are not
        // reported.
        if (value === 'lost' || this.#told.get(name) === value) return;
        this.#told.set(name, value);
        return this.#tell({ event: type, name, ...stateText(event.state) });
      }
      case 'asked':
      case 'notification': {
        const { method, params = {} } = event;
        return this.#tell({ event: type, name, method, params });
      }
      case 'withdrawn':
        return this.#tell({ event: type, name, method: event.method });
      case 'problem':
        return this.#tell({ event: type, name, message: event.message });
      case 'authorize':
        return this.#tell({ event: type, name, url: event.url });
      case 'stderr':
    }
  }
}

/** The connection of a name; undefined if a manager currently has none. */
function connectionIn(held: Held, name: string): Connection | undefined {
  return 'connection' in held ? held.connection : held.get(name);
}

function statusOf(held: Held, name: string): Omit<ServerStatus, 'tools'> {
  if (!('connection' in held)) return held.status.get(name) ?? { state: 'closed', launches: 0 };
  const { state, launches } = held.connection;
  const { value, loss } = state;
  const isWithout = value !== 'ready' && loss !== undefined;
  return { state: value, launches, ...(isWithout ? { error: disconnectError(loss) } : {}) };
}

function stateIn(held: Held, name: string): Json {
  const { state, error } = statusOf(held, name);
  return { state: stateName(state), ...(error ? { error: errorText(error) } : {}) };
}

/** @throws {CommandError} if the name is in use */
function refuseInUse(held: Held, name: string): void {
  const { state } = statusOf(held, name);
  if (['failed', 'closing', 'closed', 'disabled'].includes(state)) return;
  throw new CommandError(`There is a connection ${JSON.stringify(name)} already: close it first`);
}

/** @throws {RuntimeError} CANCELLED if the command is cancelled first */
function unlessCancelled<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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
