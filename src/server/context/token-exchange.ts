/** A token for another server, on behalf of the caller. */
import { RuntimeError } from '../../protocol/errors.ts';
import type { ExchangedToken, RequestOrigin, WantedToken } from '../../protocol/request-origin.ts';

/**
 * Exchanges the token that a request came with.
 *
 * @throws {TypeError} it is not said for which server, or not as a URL
 * @throws {RuntimeError} see `exchangeToken` of the context
 */
export async function exchangedFor(
  origin: Pick<RequestOrigin, 'principal' | 'tokens'> | undefined,
  wanted: WantedToken,
): Promise<ExchangedToken> {
  assertNamed(wanted);
  if (!origin?.tokens) throw whyNone(origin);
  return await origin.tokens.exchange(wanted);
}

function assertNamed({ audience = [], resource = [] }: WantedToken): void {
  const [audiences, resources] = [[audience].flat(), [resource].flat()];
  if (audiences.length + resources.length === 0 || audiences.includes('')) {
    throw new TypeError('A token is for a server: name it as "audience" or "resource"');
  }
  const wrong = resources.find((each) => !URL.canParse(each) || new URL(each).hash !== '');
  if (wrong === undefined) return;
  throw new TypeError(
    `"resource" must be an absolute URL without a fragment, this is ${JSON.stringify(wrong)}`,
  );
}

function whyNone(origin: Pick<RequestOrigin, 'principal'> | undefined): RuntimeError {
  if (!origin?.principal) {
    const message = 'There is no access token to exchange: the client is not authenticated';
    return new RuntimeError('UNAUTHORIZED', message);
  }
  return new RuntimeError(
    'CONFIG_INVALID',
    'The token of this request cannot be exchanged: the server has no "tokenExchange" in its authorization, or another node has handed the request on without its token: then let the balancer keep a session at its node',
  );
}
