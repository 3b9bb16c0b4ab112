/** Errors of HTTP exchanges, naming the failed request and the URL. */
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { WireError } from '../../../../src/protocol/frames.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import { placeOf } from './address.ts';
import type { HttpResponse } from './response.ts';

/** Maximum length of a quoted body, characters. */
const shownBody = 300;

/** The beginning of a body, on one line and redacted; empty without a body. */
export function excerptOf(body: string): string {
  const text = redactText(body.trim(), shownBody).replaceAll(/\s+/g, ' ');
  return text === '' ? '' : `: ${printable(text)}`;
}

/** Error for an HTTP error status. */
export function statusError(
  what: string,
  { status, url }: { readonly status: number; readonly url: URL },
  body: string,
  remote?: WireError,
): RuntimeError {
  const hint = status === 404 && !url.pathname.endsWith('/mcp') ? mcpPathHint(url) : '';
  const message = `${what}: ${placeOf(url)} answered with status ${status}${excerptOf(body)}${hint}`;
  return new RuntimeError('HTTP_STATUS', message, { status, ...(remote ? { remote } : {}) });
}

/** Suggests the usual path of an endpoint. */
function mcpPathHint(url: URL): string {
  return `. Most servers listen on /mcp: try ${url.origin}/mcp`;
}

export function violation(what: string, why: string): RuntimeError {
  return new RuntimeError('PROTOCOL_VIOLATION', `The server's answer to ${what} ${why}`);
}

export function tooMuch(what: string, maxBytes: number): RuntimeError {
  const message = `The server's answer to ${what} has a message of more than ${maxBytes} bytes`;
  return new RuntimeError('LIMIT_EXCEEDED', message);
}

/** Failure of a `fetch`. */
export interface NetworkFailure {
  /**
   * `unreachable`: the request never reached the server. `broken`: the server may have received it.
   */
  readonly kind: 'unreachable' | 'broken';
  readonly error: RuntimeError;
}

/**
 * Classifies a failure of `fetch`. A browser gives no reason, so the request may have reached the
 * server.
 */
export function networkFailure(what: string, url: URL, thrown: unknown): NetworkFailure {
  const cause = (thrown instanceof Error ? thrown.cause : undefined) ?? thrown;
  const place = `${url.hostname}:${url.port || (url.protocol === 'https:' ? '443' : '80')}`;
  const reason = redactText(
    textOfError(cause instanceof Error ? cause.message || codeOf(cause) : cause),
  );
  if (neverArrived.test(codeOf(cause))) {
    // Node repeats the address: connect ECONNREFUSED 127.0.0.1:80.
    const short = reason.replace(` ${place}`, '').replace(` ${url.hostname}`, '');
    const message = `${placeOf(url)} is unreachable: ${short}`;
    const error = new RuntimeError('CLOSED', message, { cause });
    return { kind: 'unreachable', error };
  }
  const message = `The connection to ${place} broke before the answer to ${what}: ${reason}`;
  return { kind: 'broken', error: new RuntimeError('CLOSED', message, { cause }) };
}

/** Error codes of failures before anything is sent: no connection, no name, no certificate. */
const neverArrived =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT|EACCES|EPROTO|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_\w+|ERR_TLS_\w+|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|HOSTNAME_MISMATCH)$/;

function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return '';
  return String(cause.code);
}

/**
 * Delay requested by `Retry-After`, ms.
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
