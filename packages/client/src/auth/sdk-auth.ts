/**
 * Loads the official client's OAuth when a server first wants a login, and translates its errors.
 */
import type * as oauth from './official-oauth.ts';
import { textOfError, RuntimeError } from '../../../../src/protocol/errors.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { RefusedAuthorization } from './authorization.machine.ts';
import type { RefusalKind } from './authorization.machine.ts';

/** The package: an optional peer. */
export type SdkAuth = typeof oauth;

/** @throws {RuntimeError} CONFIG_INVALID: the package is not installed */
export async function loadOfficial(
  load: () => Promise<SdkAuth> = () => import('./official-oauth.ts'),
): Promise<SdkAuth> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new RuntimeError(
      'CONFIG_INVALID',
      'The server wants a login, and that needs a package that is not installed: npm install @modelcontextprotocol/client',
      { cause: error },
    );
  }
}

/** A refusal with a message of our own. */
export function refusedAuthorization(
  kind: RefusalKind,
  message: string,
  cause?: unknown,
): RefusedAuthorization {
  const error = new RuntimeError('UNAUTHORIZED', message, { cause });
  return new RefusedAuthorization({ kind, error });
}

/**
 * Why a step of a login failed. The official client's messages may quote a server's answer, so only
 * parts that are known to contain no secret are passed on.
 *
 * @param secrets texts that must never be in the message
 */
export function refusalFrom(
  error: unknown,
  official: SdkAuth,
  secrets: readonly (string | undefined)[],
): RefusedAuthorization {
  if (error instanceof RefusedAuthorization) return error;
  if (error instanceof RuntimeError) return new RefusedAuthorization({ kind: 'unsafe', error });
  const said = (text: string) => withoutSecrets(text, secrets);
  if (error instanceof official.IssuerMismatchError) {
    return refusedAuthorization(
      'unsafe',
      `The issuer is not the one that it should be: ${said(error.message)}`,
    );
  }
  if (error instanceof official.RegistrationRejectedError) {
    return refusedAuthorization(
      error.status >= 500 ? 'unreachable' : 'declined',
      `The authorization server does not register this client (HTTP ${error.status}); register it there, and give its "clientId"`,
    );
  }
  if (error instanceof official.OAuthError) return refusalOfOAuth(error, official, said);
  const { name, cause } = error as Error;
  if (error instanceof SyntaxError || name === 'ZodError') {
    // Both messages quote what was read.
    return refusedAuthorization(
      'unsafe',
      'The authorization server has answered what its specification does not allow',
    );
  }
  return refusedAuthorization(
    'unreachable',
    `The login could not be made: ${said(textOfError(cause ?? error))}`,
  );
}

function refusalOfOAuth(
  { code, message }: InstanceType<SdkAuth['OAuthError']>,
  { OAuthErrorCode }: SdkAuth,
  said: (text: string) => string,
): RefusedAuthorization {
  // The official client uses this for an answer that it could not read; the message contains the
  // whole body.
  if (code === OAuthErrorCode.ServerError) {
    return refusedAuthorization('unreachable', 'The authorization server has failed');
  }
  const kind = code === OAuthErrorCode.TemporarilyUnavailable ? 'unreachable' : 'declined';
  return refusedAuthorization(
    kind,
    `The authorization server says ${said(code)}: ${said(message)}`,
  );
}

/** The text without secrets, on one line, at most 300 characters. */
function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret) clean = clean.replaceAll(secret, '[redacted]');
  }
  return printable(redactText(clean)).slice(0, 300);
}
