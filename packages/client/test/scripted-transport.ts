/** A server of the legacy era behind a transport of the official SDK's shape, that does what its script says. */
import type { SdkTransport } from 'mcp-actors';
import { openConnection } from 'mcp-actors/client';
import type { ConnectOptions } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { onTestFinished } from 'vitest';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly [name: string]: unknown };
}

/** Gives a result, `never` for no answer, or nothing: then the handshake is answered, and nothing else. */
export type Script = (message: Message, server: ScriptedTransport) => object | 'never' | undefined;

export class ScriptedTransport implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  /** What it was sent, in order. */
  readonly sent: Message[] = [];
  /** What becomes of each message that is sent: by default it is taken at once. */
  taking: () => Promise<void> = () => Promise.resolve();
  readonly #script: Script;

  constructor(script: Script = () => undefined) {
    this.#script = script;
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    this.onclose?.();
  }

  send(message: object): Promise<void> {
    const { id, method, params } = message as Message;
    this.sent.push(message as Message);
    const result = this.#script(message as Message, this) ?? greeting(method, params);
    if (id !== undefined && result !== undefined && result !== 'never')
      queueMicrotask(() => this.say({ id, result }));
    return this.taking();
  }

  /** Sends the host a message. */
  say(message: object): void {
    this.onmessage?.({ jsonrpc: '2.0', ...message } as never);
  }

  methods(): readonly (string | undefined)[] {
    return this.sent.map(({ method }) => method);
  }
}

function greeting(method: string | undefined, params: Message['params']): object | undefined {
  if (method !== 'initialize') return undefined;
  const serverInfo = { name: 'scripted', version: '1' };
  return { protocolVersion: params?.['protocolVersion'], capabilities: { tools: {} }, serverInfo };
}

/** A connection to servers that follow this script, one after the other, with a clock of its own. */
export function scriptedConnection(script?: Script, options: ConnectOptions = {}) {
  const clock = new TestClock();
  const servers: ScriptedTransport[] = [];
  const transport = () => {
    const server = new ScriptedTransport(script);
    servers.push(server);
    return server;
  };
  const connection = openConnection(
    { transport },
    { era: 'legacy', clock, report: () => {}, restart: 'none', ...options },
  );
  onTestFinished(() => connection.close());
  return { connection, clock, servers };
}
