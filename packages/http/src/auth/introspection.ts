/**
 * Checks opaque tokens by introspection at their issuer.
 *
 * @see RFC 7662
 */
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';
import { addressKey } from '../../../../src/protocol/address-key.ts';
import { basicCredentials } from '../../../../src/protocol/oauth.ts';
import { endpointOf } from './fetch-json.ts';
import { fetchJson } from './fetch-json.ts';
import type { FetchBounds } from './fetch-json.ts';
import { audiencesOf } from './options.ts';
import type { IntrospectionOptions, TokenLimits } from './options.ts';
import { matchesAudience, numericDate, principalOfClaims } from './principal-claims.ts';
import { AuthorizationUnavailable, InvalidToken } from './token-check.ts';
import type { CheckToken, Time } from './token-check.ts';

export function introspectionCheck(
  options: IntrospectionOptions,
  limits: TokenLimits,
  time: Time,
): CheckToken {
  const { issuer, introspection } = options;
  const audiences = audiencesOf(options);
  const headers = {
    authorization: basicCredentials(introspection.clientId, introspection.clientSecret),
  };
  let endpoint = introspection.endpoint;
  const { fetchTimeoutMs, maxDocumentBytes, maxIntrospections } = limits;
  const turns = new FairSemaphore(maxIntrospections);

  const ask = async (token: string, bounds: FetchBounds) => {
    endpoint ??= await endpointOf(issuer, 'introspection_endpoint', bounds);
    const body = new URLSearchParams({ token, token_type_hint: 'access_token' });
    return await fetchJson(endpoint, bounds, { headers, body });
  };

  const answerTo = async (...[token, request, purpose]: Parameters<CheckToken>) => {
    const party = addressKey(request.remoteAddress);
    if (purpose !== 'recheck' && !turns.hasRoom(maxIntrospections, party)) {
      const message = `${maxIntrospections} tokens of this address are already waiting to be checked`;
      throw new AuthorizationUnavailable(message, { retryAfterMs: 1000 });
    }
    const signal = AbortSignal.timeout(fetchTimeoutMs);
    const asking = () => ask(token, { signal, maxDocumentBytes });
    try {
      // Rechecks of streams bypass the queue: a flood of requests must not keep a revoked stream
      // open.
      if (purpose === 'recheck') return await asking();
      return await turns.run(asking, signal, party);
    } catch (cause) {
      // The endpoint may have moved.
      endpoint = introspection.endpoint;
      const message = 'The authorization server cannot be reached for introspection';
      throw new AuthorizationUnavailable(message, { retryAfterMs: fetchTimeoutMs, cause });
    }
  };

  return async (...given) => {
    const answer = await answerTo(...given);
    if (answer['active'] !== true) throw new InvalidToken('The token is not active');
    const { iss = issuer, aud } = answer;
    const [exp, nbf] = [numericDate(answer, 'exp'), numericDate(answer, 'nbf')];
    if (iss !== issuer) throw new InvalidToken('The token was issued by another issuer');
    if (!matchesAudience(audiences, aud)) throw new InvalidToken('The token is for another server');
    const now = time.wall() / 1000;
    const { clockSkewSeconds } = limits;
    if (exp !== undefined && exp <= now - clockSkewSeconds) {
      throw new InvalidToken('The token has expired');
    }
    if (nbf !== undefined && nbf > now + clockSkewSeconds) {
      throw new InvalidToken('The token is not valid yet');
    }
    return principalOfClaims(issuer, answer);
  };
}
