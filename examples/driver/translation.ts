/** The words of the contract in those of the library, and back. */
import { setTimeout as pause } from 'node:timers/promises';
import { ProtocolError, RuntimeError, errorOfLoss, fileCredentialStore } from 'mcp-actors/client';
import type {
  ConnectOptions,
  ConnectionState,
  PersonAuth,
  Root,
  RuntimeErrorCode,
} from 'mcp-actors/client';

type Json = { readonly [key: string]: unknown };

/** What a provider answers. */
interface Answer {
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
  readonly throws?: string;
  readonly delayMs?: number;
}

/** `options` of a command. */
export interface DriverOptions {
  readonly era?: 'auto' | 'legacy' | 'modern';
  readonly probeMs?: number;
  readonly connectMs?: number;
  readonly requestMs?: number;
  readonly restart?: false | Json;
  readonly streamRetry?: Json;
  readonly stop?: { readonly stdinMs?: number; readonly termMs?: number };
  readonly providers?: {
    readonly roots?: { readonly roots: readonly Root[] };
    readonly sampling?: Answer;
    readonly elicitation?: Answer;
  };
  readonly watch?: boolean;
  readonly limits?: { readonly maxLineBytes?: number };
  readonly auth?: {
    readonly redirectUrl?: string;
    readonly clientId?: string;
    readonly clientSecret?: string;
    readonly scope?: string;
    readonly storeDir?: string;
    readonly wrongState?: boolean;
  };
  readonly startupMs?: number;
}

/** The options of a connection. */
export function connectOptions(given: DriverOptions = {}): ConnectOptions {
  const { era = 'auto', probeMs, connectMs = 10_000, requestMs = 60_000 } = given;
  const { restart, streamRetry, stop, limits, auth, providers = {} } = given;
  return {
    ...(era === 'auto' ? {} : { era }),
    limits: {
      connectTimeoutMs: connectMs,
      requestTimeoutMs: requestMs,
      // Without a maxTotalMs, progress begins no time anew.
      requestMaxTotalMs: requestMs,
      ...(probeMs === undefined ? {} : { probeMs }),
      ...limits,
    },
    ...(restart === undefined
      ? {}
      : { restart: restart === false ? 'none' : { ...restart, jitter: 0 } }),
    ...(streamRetry ? { streamRetry: { ...streamRetry, jitter: 0 } } : {}),
    ...(stop ? { stop: { inputMs: stop.stdinMs, terminateMs: stop.termMs } } : {}),
    ...(auth ? { auth: personAuth(auth) } : {}),
    ...(providers.roots ? { roots: providers.roots.roots } : {}),
    ...(providers.sampling ? { sample: answerWith(providers.sampling) } : {}),
    ...(providers.elicitation ? { elicit: answerWith(providers.elicitation) } : {}),
  };
}

/** The driver plays the browser of a person who agrees to everything. */
function personAuth({
  storeDir,
  wrongState = false,
  ...client
}: NonNullable<DriverOptions['auth']>): PersonAuth {
  return {
    ...client,
    ...(storeDir === undefined ? {} : { store: fileCredentialStore({ folder: storeDir }) }),
    visit: async (url, { signal }) => {
      const { headers, status } = await fetch(url, { redirect: 'manual', signal });
      const location = headers.get('location');
      if (location === null) throw new Error(`The login was answered with ${status}`);
      const back = new URL(location, url);
      if (wrongState) back.searchParams.set('state', 'wrong');
      return back;
    },
  };
}

function answerWith({ result, error, throws, delayMs = 0 }: Answer) {
  return async (
    _question: unknown,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<never> => {
    if (delayMs > 0) await pause(delayMs, undefined, { signal });
    if (error) throw new ProtocolError(error.code, error.message);
    if (throws !== undefined) throw new Error(throws);
    return result as never;
  };
}

const codes: { readonly [code in RuntimeErrorCode]?: string } = {
  REQUEST_TIMEOUT: 'REQUEST_TIMEOUT',
  CONNECT_TIMEOUT: 'CONNECT_TIMEOUT',
  CANCELLED: 'CANCELLED',
  CLOSED: 'CLOSED',
  TRANSPORT_CLOSED: 'CLOSED',
  NOT_READY: 'NOT_READY',
  SPAWN_FAILED: 'SPAWN',
  PROTOCOL_VIOLATION: 'PROTOCOL',
  INVALID_RESPONSE: 'PROTOCOL',
  VERSION_UNSUPPORTED: 'PROTOCOL',
  HTTP_STATUS: 'HTTP',
  UNAUTHORIZED: 'AUTH',
  LIMIT_EXCEEDED: 'LIMIT',
  CAPABILITY_MISSING: 'CAPABILITY',
  CONFIG_INVALID: 'CONFIG',
  UNSERIALIZABLE: 'CONFIG',
};

/** An error as the contract has it. */
export function errorText(error: unknown): Json {
  const { message } = error as Error;
  if (error instanceof ProtocolError) {
    const { code: rpcCode, data } = error;
    return { code: 'RPC', message, rpcCode, ...(data === undefined ? {} : { data }) };
  }
  if (error instanceof RangeError || error instanceof TypeError) return { code: 'CONFIG', message };
  if (!(error instanceof RuntimeError)) return { code: 'INTERNAL', message };
  const { code, exit, status } = error;
  return {
    code: codes[code] ?? 'INTERNAL',
    message,
    ...(status === undefined ? {} : { status }),
    ...(typeof exit?.code === 'number' ? { exitCode: exit.code } : {}),
    ...(exit?.signal ? { signal: exit.signal } : {}),
    ...(exit ? { stderr: exit.stderr } : {}),
  };
}

/** A state as the contract has it; undefined for one that it does not name. */
export function stateText({ value, attempt, delayMs, loss }: ConnectionState): Json | undefined {
  if (value === 'lost') return undefined;
  return {
    state: value,
    ...(loss && value !== 'ready' ? { reason: errorOfLoss(loss).message } : {}),
    ...(attempt > 0 ? { attempt } : {}),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
}
