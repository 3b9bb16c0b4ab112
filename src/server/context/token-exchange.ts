/** Token exchange on behalf of the caller. */
import { RuntimeError } from '../../protocol/errors.ts';
import type { ExchangedToken, RequestOrigin, WantedToken } from '../../protocol/request-origin.ts';

/**
 * Exchanges the access token of a request.
 *
 * @throws {TypeError} if neither an audience nor a resource is named, or a resource is not a URL
 * @throws {RuntimeError} like `exchangeToken` of the context
 */
export async function exchangeToken(
  origin: Pick<RequestOrigin, 'principal' | 'tokens'> | undefined,
  wanted: WantedToken,
): Promise<ExchangedToken> {
  checkTarget(wanted);
  if (!origin?.tokens) throw noTokenError(origin);
  return await origin.tokens.exchange(wanted);
}

function checkTarget({ audience = [], resource = [] }: WantedToken): void {
  const [audiences, resources] = [[audience].flat(), [resource].flat()];
  if (audiences.length + resources.length === 0 || audiences.includes('')) {
    throw new TypeError('exchangeToken needs a target server: set "audience" or "resource"');
  }
  const wrong = resources.find((each) => !URL.canParse(each) || new URL(each).hash !== '');
  if (wrong === undefined) return;
  throw new TypeError(
    `"resource" must be an absolute URL without a fragment, got ${JSON.stringify(wrong)}`,
  );
}

function noTokenError(origin: Pick<RequestOrigin, 'principal'> | undefined): RuntimeError {
  if (!origin?.principal) {
    const message = 'There is no access token to exchange: the client is not authenticated';
    return new RuntimeError('UNAUTHORIZED', message);
  }
  return new RuntimeError(
    'CONFIG_INVALID',
    'The access token cannot be exchanged: set "tokenExchange" in the authorization options. If it is set, another node forwarded the request without its token: route each session to one node',
  );
}
