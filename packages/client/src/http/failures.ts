/** Errors between a host and a server over HTTP, which say what failed and where. */
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { WireError } from '../../../../src/protocol/frames.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import { placeOf } from './address.ts';
import type { HttpResponse } from './response.ts';

/** How many characters of a body an error shows. */
const shownBody = 300;

/** The beginning of a body, on one line and without secrets; empty if there is no body. */
export function excerptOf(body: string): string {
  const text = redactText(body.trim(), shownBody).replaceAll(/\s+/g, ' ');
  return text === '' ? '' : `: ${printable(text)}`;
}

/** The error of an answer with such a status. */
export function statusError(
  what: string,
  { status, url }: { readonly status: number; readonly url: URL },
  body: string,
  remote?: WireError,
): RuntimeError {
  const message = `${what}: ${placeOf(url)} answered with status ${status}${excerptOf(body)}`;
  return new RuntimeError('HTTP_STATUS', message, { status, ...(remote ? { remote } : {}) });
}

export function violation(what: string, why: string): RuntimeError {
  return new RuntimeError('PROTOCOL_VIOLATION', `The server's answer to ${what} ${why}`);
}

export function tooMuch(what: string, maxBytes: number): RuntimeError {
  const message = `The server's answer to ${what} has a message of more than ${maxBytes} bytes`;
  return new RuntimeError('LIMIT_EXCEEDED', message);
}

/** Why `fetch` gave up a request. */
export interface NetworkFailure {
  /** `unreachable`: it has not reached the server. `broken`: it may have. */
  readonly kind: 'unreachable' | 'broken';
  readonly error: RuntimeError;
}

/** Reads why `fetch` failed. A browser does not say, so the request may have reached the server. */
export function networkFailure(what: string, url: URL, thrown: unknown): NetworkFailure {
  const cause = (thrown instanceof Error ? thrown.cause : undefined) ?? thrown;
  const place = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
  const reason = redactText(
    textOfError(cause instanceof Error ? cause.message || codeOf(cause) : cause),
  );
  if (neverArrived.test(codeOf(cause))) {
    const error = new RuntimeError('CLOSED', `${place} cannot be reached: ${reason}`, { cause });
    return { kind: 'unreachable', error };
  }
  const message = `The connection to ${place} broke before the answer to ${what}: ${reason}`;
  return { kind: 'broken', error: new RuntimeError('CLOSED', message, { cause }) };
}

/** The codes of failures before anything is sent: no connection, no name, no certificate. */
const neverArrived =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EPROTO|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_\w+|ERR_TLS_\w+|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/;

function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return '';
  return String(cause.code);
}

/**
 * How long a server wants us to wait, milliseconds.
 *
 * @see RFC 9110, 10.2.3
 */
export function retryAfterMs(
  response: HttpResponse,
  now: () => number = Date.now,
): number | undefined {
  const text = response.header('retry-after')?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now());
}
