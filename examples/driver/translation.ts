/** Translates between the contract's terms and the library's. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  ProtocolError,
  RuntimeError,
  disconnectError,
  fileCredentialStore,
} from 'mcp-actors/client';
import type { RuntimeErrorCode } from 'mcp-actors';
import type {
  ConnectOptions,
  ConnectionState,
  PersonAuth,
  ServerProfile,
  ServerStatus,
} from 'mcp-actors/client';
import { CommandError } from './command.ts';
import type { Answer, DriverOptions, Json } from './command.ts';

/** Options of a connection. */
export function connectOptions(given: DriverOptions = {}): ConnectOptions {
  const { era = 'auto', probeMs, connectMs = 10_000, requestMs = 60_000 } = given;
  const { restart, streamRetry, stop, limits, auth, providers = {} } = given;
  return {
    ...(era === 'auto' ? {} : { era }),
    limits: {
      connectTimeoutMs: connectMs,
      requestTimeoutMs: requestMs,
      // Without maxTotalMs, progress does not extend the timeout.
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

/** Acts as the browser of a person who approves everything. */
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

/** An error in the contract's form. */
export function errorText(error: unknown): Json {
  const { message } = error as Error;
  if (error instanceof ProtocolError) {
    const { code: rpcCode, data } = error;
    return { code: 'RPC', message, rpcCode, ...(data === undefined ? {} : { data }) };
  }
  if (error instanceof CommandError) return { code: error.code, message };
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

/** The contract's name of a state. */
export function stateName(value: ServerStatus['state']): string {
  return value === 'lost' ? 'backoff' : value;
}

/** A state in the contract's form. */
export function stateText({ value, attempt, delayMs, loss }: ConnectionState): Json {
  return {
    state: stateName(value),
    ...(loss && value !== 'ready' ? { reason: disconnectError(loss).message } : {}),
    ...(attempt > 0 ? { attempt } : {}),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
}

/** A connection's server in the contract's form. */
export function profileText({ info: serverInfo, ...profile }: ServerProfile): Json {
  const { era, revision, capabilities, instructions } = profile;
  return {
    era,
    revision,
    serverInfo,
    capabilities,
    ...(instructions === undefined ? {} : { instructions }),
  };
}
