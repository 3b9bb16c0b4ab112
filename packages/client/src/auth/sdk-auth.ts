/** Loads the official client's OAuth code on first use, and translates its errors. */
import type * as oauth from './official-oauth.ts';
import { textOfError, RuntimeError } from '../../../../src/protocol/errors.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import { redactText } from '../../../diagnostics/src/redaction.ts';
import { RefusedAuthorization } from './authorization.machine.ts';
import type { RefusalKind } from './authorization.machine.ts';

/** The official client: an optional peer dependency. */
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
      'The server requires a login, which needs a missing package: npm install @modelcontextprotocol/client',
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
 * The refusal for a failed login step. Messages of the official client may quote a server's
 * response, so only parts known to contain no secret are kept.
 *
 * @param secrets texts to redact
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
    return refusedAuthorization('unsafe', `Untrusted authorization server: ${said(error.message)}`);
  }
  if (error instanceof official.RegistrationRejectedError) {
    return refusedAuthorization(
      error.status >= 500 ? 'unreachable' : 'declined',
      `The authorization server rejected the client registration (HTTP ${error.status}): register a client there and set "clientId"`,
    );
  }
  if (error instanceof official.OAuthError) return refusalOfOAuth(error, official, said);
  const { name, cause } = error as Error;
  if (error instanceof SyntaxError || name === 'ZodError') {
    // Both messages quote the response.
    return refusedAuthorization('unsafe', 'The authorization server sent a malformed response');
  }
  return refusedAuthorization(
    'unreachable',
    `The login failed: ${said(textOfError(cause ?? error))}`,
  );
}

function refusalOfOAuth(
  { code, message }: InstanceType<SdkAuth['OAuthError']>,
  { OAuthErrorCode }: SdkAuth,
  said: (text: string) => string,
): RefusedAuthorization {
  // The official client uses this code for unreadable responses; its message contains the whole
  // body.
  if (code === OAuthErrorCode.ServerError) {
    return refusedAuthorization('unreachable', 'The authorization server failed');
  }
  const kind = code === OAuthErrorCode.TemporarilyUnavailable ? 'unreachable' : 'declined';
  return refusedAuthorization(
    kind,
    `The authorization server returned ${said(code)}: ${said(message)}`,
  );
}

/** Redacts secrets, and returns one line of at most 300 characters. */
function withoutSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret) clean = clean.replaceAll(secret, '[redacted]');
  }
  return printable(redactText(clean)).slice(0, 300);
}
