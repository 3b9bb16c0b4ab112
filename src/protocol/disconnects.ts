/** Reasons for a lost connection, and the errors of its requests. */
import { RuntimeError, textOfError } from './errors.ts';
import type { ProcessExit, RequestFailure, RuntimeErrorCode } from './errors.ts';

/** Invalid messages from the server: their number and the last error. */
export interface InvalidInput {
  readonly count: number;
  readonly message: string;
}

/** The reason why a connection was lost or could not be established. */
export type ConnectionLoss =
  /** The process exited or was killed. `stderr`: its last lines. */
  | {
      readonly kind: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly stderr: string;
      /**
       * Environment variables that these lines mention, and that the process did not inherit from
       * the host.
       */
      readonly withheld?: readonly string[];
      /** Invalid input received before the connection was ready. */
      readonly unread?: InvalidInput;
    }
  /** The command could not be started. */
  | { readonly kind: 'spawn-failed'; readonly error: unknown }
  /** The server closed its output. It may still be running. */
  | { readonly kind: 'input-ended'; readonly stderr?: string }
  /** The server no longer accepts input. */
  | { readonly kind: 'output-broken'; readonly error: unknown; readonly stderr?: string }
  /** The server was not ready in time. */
  | {
      readonly kind: 'timeout';
      readonly timeoutMs: number;
      readonly stderr?: string;
      readonly unread?: InvalidInput;
    }
  /** The server rejected the handshake or answered in violation of the protocol. */
  | { readonly kind: 'refused'; readonly error: Error }
  /** An HTTP status unrelated to the era or the session. */
  | {
      readonly kind: 'http';
      readonly status: number;
      readonly message: string;
      /** The `Retry-After` of the answer, milliseconds. */
      readonly retryAfterMs?: number;
    }
  /** The endpoint is unreachable. */
  | { readonly kind: 'unreachable'; readonly error: unknown }
  /** The server requires a login, which was missing or rejected. */
  | { readonly kind: 'unauthorized'; readonly error: Error }
  /** The host requested a new connection. */
  | { readonly kind: 'reconnect' }
  /** An actor of the connection failed: a bug. */
  | { readonly kind: 'failure'; readonly error: unknown };

/** True if another attempt would fail in the same way. */
export function forbidsRetry({ kind }: ConnectionLoss): boolean {
  return kind === 'spawn-failed' || kind === 'unauthorized' || kind === 'failure';
}

/** The error of a request, with the exit of the process or the HTTP status. */
interface LossFailure extends RequestFailure {
  readonly exit?: ProcessExit;
  readonly status?: number;
}

/** The error of requests in flight when the host closes the connection. */
export const closedByHost: RequestFailure = {
  code: 'CLOSED',
  message: 'The host has closed the connection',
};

/** The error of requests in flight when the connection is lost. */
export function failureOf(loss: ConnectionLoss | undefined): LossFailure {
  if (!loss) return closedByHost;
  return { code: 'CLOSED', message: describeLoss(loss), ...detailsOf(loss) };
}

/** The error of a failed connection attempt. */
export function disconnectError(loss: ConnectionLoss | undefined): RuntimeError {
  if (!loss) return new RuntimeError('CLOSED', closedByHost.message);
  return new RuntimeError(codeOf(loss), describeLoss(loss), detailsOf(loss));
}

function codeOf(loss: ConnectionLoss): RuntimeErrorCode {
  switch (loss.kind) {
    case 'spawn-failed':
      return 'SPAWN_FAILED';
    case 'timeout':
      return 'CONNECT_TIMEOUT';
    case 'refused':
      return loss.error instanceof RuntimeError ? loss.error.code : 'CLOSED';
    case 'http':
      return 'HTTP_STATUS';
    case 'unauthorized':
      return 'UNAUTHORIZED';
    case 'exited':
    case 'input-ended':
    case 'output-broken':
    case 'unreachable':
    case 'reconnect':
    case 'failure':
      return 'CLOSED';
  }
}

function detailsOf(loss: ConnectionLoss): Omit<LossFailure, 'code' | 'message'> {
  switch (loss.kind) {
    case 'exited': {
      const { code, signal, stderr } = loss;
      return { cause: undefined, exit: { code, signal, stderr } };
    }
    case 'http':
      return { cause: undefined, status: loss.status };
    default:
      return { cause: 'error' in loss ? loss.error : undefined };
  }
}

/** Length of the stderr quote in messages, UTF-16 units. The error's `exit` has more. */
const maxQuotedLength = 600;

/** Describes a loss as a sentence, with the last stderr lines of the server's process. */
function describeLoss(loss: ConnectionLoss): string {
  const words = 'stderr' in loss ? (loss.stderr ?? '').trim() : '';
  return `${sentence(loss)}${words === '' ? '' : `. Last stderr output: ${endOf(words)}`}${hint(loss)}`;
}

/** A hint about variables that the server may lack, because it inherits only a few. */
function hint(loss: ConnectionLoss): string {
  const [name, ...more] = ('withheld' in loss ? loss.withheld : undefined) ?? [];
  if (name === undefined) return '';
  const names = [name, ...more].slice(0, 3).join(', ');
  const [are, them] = more.length === 0 ? ['is', 'it'] : ['are', 'them'];
  return `\n${names} ${are} set for the host but not inherited by the server. To pass ${them} on: "env" in a servers' file, inheritEnv of connect, --env ${name} of call and shell`;
}

/** The last lines of a text, or the end of a single long line. */
function endOf(text: string): string {
  if (text.length <= maxQuotedLength) return text;
  const end = text.slice(-maxQuotedLength);
  return `… ${end.slice(end.indexOf('\n') + 1)}`;
}

function sentence(loss: ConnectionLoss): string {
  switch (loss.kind) {
    case 'exited':
      return loss.signal === null
        ? `The server's process has exited with code ${loss.code}${describeUnread(loss.unread)}`
        : `The server's process was ended by ${loss.signal}${describeUnread(loss.unread)}`;
    case 'spawn-failed':
      return `The server could not be started: ${reasonOf(loss.error)}`;
    case 'input-ended':
      return 'The server has closed its output';
    case 'output-broken':
      return `The server does not accept input: ${reasonOf(loss.error)}`;
    case 'timeout':
      return `The server was not ready within ${loss.timeoutMs} ms${describeUnread(loss.unread)}`;
    case 'refused':
    case 'unauthorized':
      return loss.error.message;
    case 'http':
      return `The server answered with HTTP status ${loss.status}: ${loss.message}`;
    case 'unreachable':
      return reasonOf(loss.error);
    case 'reconnect':
      return 'The host requested a new connection';
    case 'failure':
      return `Internal error of the connection: ${reasonOf(loss.error)}`;
  }
}

function describeUnread(unread: InvalidInput | undefined): string {
  if (!unread) return '';
  const { count, message } = unread;
  return `. ${message}${count === 1 ? '' : ` (the last of ${count} invalid lines)`}`;
}

/** The message of our own errors, which are sentences; other errors with their name. */
function reasonOf(error: unknown): string {
  return error instanceof RuntimeError ? error.message : textOfError(error);
}
