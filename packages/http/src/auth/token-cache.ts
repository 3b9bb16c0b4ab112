/**
 * Caches the outcome of token checks for a short time. Keys are digests, so no dump of the cache
 * contains a token.
 */
import { BoundedMap } from '../../../../src/protocol/bounded-map.ts';
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import type { TokenLimits } from './options.ts';
import { InvalidToken } from './token-check.ts';
import type { CheckToken, Time } from './token-check.ts';

type Outcome = { readonly principal: Principal } | { readonly refusal: InvalidToken };

/**
 * @param refusals whether rejections are cached, too. They should be if each check asks another
 *   server; a key that is unknown now may appear in a moment
 */
export function cachedCheck(
  check: CheckToken,
  limits: TokenLimits,
  time: Time,
  refusals: 'kept' | 'forgotten',
): CheckToken {
  const { tokenCacheMs, maxCachedTokens, clockSkewSeconds } = limits;
  if (tokenCacheMs === 0) return check;
  // Rejections have their own cache, so that a flood of invalid tokens does not evict valid ones.
  const accepted = new BoundedMap<string, Outcome & { readonly until: number }>(maxCachedTokens);
  const refused = new BoundedMap<string, Outcome & { readonly until: number }>(maxCachedTokens);
  const checking = new Map<string, Promise<Principal>>();

  const remembered = (key: string): Outcome | undefined => {
    for (const map of [accepted, refused]) {
      const found = map.get(key);
      if (found && time.monotonic() < found.until && !isOver(found)) return found;
      map.delete(key);
    }
    return undefined;
  };
  /** Compares wall time, because the system date may change while a token is cached. */
  const isOver = (outcome: Outcome): boolean => {
    const expiresAt = 'principal' in outcome ? outcome.principal.expiresAt : undefined;
    return expiresAt !== undefined && time.wall() >= expiresAt + clockSkewSeconds * 1000;
  };

  const checkNow = async (key: string, ...given: Parameters<CheckToken>): Promise<Principal> => {
    try {
      const principal = await check(...given);
      accepted.set(key, { principal, until: time.monotonic() + tokenCacheMs });
      return principal;
    } catch (error) {
      if (refusals === 'kept' && error instanceof InvalidToken) {
        refused.set(key, { refusal: error, until: time.monotonic() + tokenCacheMs });
      }
      throw error;
    } finally {
      checking.delete(key);
    }
  };

  return async (token, request, purpose) => {
    const key = await digestOf(token);
    const known = remembered(key);
    if (known && 'principal' in known) return known.principal;
    if (known) throw known.refusal;
    // Concurrent requests with the same token share one check. Rechecks do not wait in the request
    // queue.
    let running = purpose === 'request' ? checking.get(key) : undefined;
    if (!running) {
      running = checkNow(key, token, request, purpose);
      checking.set(key, running);
    }
    return await running;
  };
}

async function digestOf(token: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
  return String.fromCharCode(...new Uint8Array(bytes));
}
