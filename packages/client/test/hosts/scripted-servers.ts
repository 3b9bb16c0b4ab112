/** Many servers in this process, under a manager whose clock is the test's. Each does what the test lets it do. */
import { onTestFinished } from 'vitest';
import { openConnection } from 'mcp-actors/client';
import { TestClock, flush } from 'mcp-actors/testing';
import type { ConnectionOptions, ServerEntry } from '../../src/connection/options.ts';
import { readHosts } from '../../src/hosts/hosts-file.ts';
import { ServerManager } from '../../src/hosts/manager.ts';
import type { ManagedOptions } from '../../src/hosts/servers.ts';
import { ScriptedTransport } from '../scripted-transport.ts';

/** A server as it is to be: its tools, and the methods that it leaves unanswered until it is told to go on. */
interface Plan {
  tools: readonly string[];
  readonly held: Set<string>;
  /** What it can do: by default it has tools. */
  capabilities?: object;
  /** Why it does not say which tools it has. */
  listFault?: string;
  /** Why no connection can be made. */
  refused?: Error;
  /** What becomes of the processes that are ended: by default they are gone at once. */
  ending?: Promise<void>;
}

interface Opened {
  readonly entry: ServerEntry;
  readonly options: ConnectionOptions;
}

/** What has not settled in this turn is undefined. */
export const now = <T>(promise: Promise<T> | undefined): Promise<T | undefined> =>
  Promise.race([promise, flush().then(() => undefined)]);

export class ScriptedServers {
  readonly clock = new TestClock();
  readonly manager: ServerManager;
  /** What the manager has opened, in order. */
  readonly opened: Opened[] = [];
  /** The options of each server whose identity was asked for, in order. */
  readonly callers: ConnectionOptions[] = [];
  /** What has been reported. */
  readonly facts: { readonly name: string; readonly message: string }[] = [];
  readonly #plans = new Map<string, Plan>();
  readonly #transports = new Map<string, ScriptedTransport[]>();
  /** What is left unanswered, by server and method. */
  readonly #unanswered = new Map<string, () => void>();

  constructor(
    mcpServers: object,
    { file, ...options }: ManagedOptions & { readonly file?: string } = {},
    plan: (servers: ScriptedServers) => void = () => {},
  ) {
    plan(this);
    const config = readHosts({ mcpServers }, { environment: {}, file });
    const { clock } = this;
    this.manager = new ServerManager(
      config,
      {
        ...{ restart: 'none', cacheFolder: false, clock, report: (fact) => this.facts.push(fact) },
        ...options,
      },
      {
        open: (entry, given) => this.#open(entry, given),
        callerOf: (_entry, given) => {
          this.callers.push(given);
          return '';
        },
      },
    );
    onTestFinished(() => this.manager.close().catch(() => {}));
  }

  plan(name: string): Plan {
    const plan = this.#plans.get(name) ?? { tools: [name], held: new Set() };
    this.#plans.set(name, plan);
    return plan;
  }

  /** What was launched of a server, the last one last. */
  launched(name: string): readonly ScriptedTransport[] {
    return this.#transports.get(name) ?? [];
  }

  /** Answers what a server has left unanswered, and holds nothing of this method any more. */
  answer(name: string, method: string): void {
    this.plan(name).held.delete(method);
    this.#unanswered.get(`${name} ${method}`)?.();
  }

  #open(entry: ServerEntry, options: ConnectionOptions) {
    this.opened.push({ entry, options });
    const { name = '' } = options;
    const { refused, ending } = this.plan(name);
    if (refused) throw refused;
    const transport = () => {
      const made: ScriptedTransport = new ScriptedTransport(({ id, method = '', params }) => {
        if (id === undefined) return undefined;
        const reply = () => made.say({ id, ...this.#reply(name, method, params) });
        if (this.plan(name).held.has(method)) this.#unanswered.set(`${name} ${method}`, reply);
        else queueMicrotask(reply);
        return 'never';
      });
      const close = made.close.bind(made);
      if (ending) made.close = () => ending.then(close);
      this.#transports.set(name, [...this.launched(name), made]);
      return made;
    };
    return openConnection({ transport }, { ...options, era: 'legacy' });
  }

  #reply(name: string, method: string, params: { readonly [name: string]: unknown } = {}): object {
    const { tools, capabilities = { tools: {} }, listFault } = this.plan(name);
    if (method === 'initialize') {
      const serverInfo = { name, version: '1' };
      return { result: { protocolVersion: params['protocolVersion'], capabilities, serverInfo } };
    }
    if (method === 'tools/list') {
      if (listFault !== undefined) return { error: { code: -32_000, message: listFault } };
      return {
        result: { tools: tools.map((each) => ({ name: each, inputSchema: { type: 'object' } })) },
      };
    }
    const text = `${name} ${String(params['name'])}`;
    return { result: method === 'tools/call' ? { content: [{ type: 'text', text }] } : {} };
  }
}
