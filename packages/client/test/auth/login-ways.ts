/** Every way to a token, for what all of them promise. */
import { TestClock } from 'mcp-actors/testing';
import type { AuthOption } from '../../src/auth/options.ts';
import type { HttpAuthorization } from '../../src/http/authorization.ts';
import type { AuthorizationServer } from '../../../http/test/authorization-server.ts';
import { authorize } from './authorizing.ts';
import { agree } from './protected-server.ts';

/** On this clock, the pause of a device passes at once. */
class HastyClock extends TestClock {
  override setTimeout(callback: () => void, delayMs: number): number {
    const id = super.setTimeout(callback, delayMs);
    if (delayMs === 5000) queueMicrotask(() => this.increment(delayMs));
    return id;
  }
}

export type Way = 'a person' | 'a person at another device' | 'a host itself';

export const persons = ['a person', 'a person at another device'] as const;

export const ways: readonly Way[] = [...persons, 'a host itself'];

/** A host that gets its tokens in this way, and whose person agrees at once. */
export function authorizeBy(
  way: Way,
  issuer: AuthorizationServer,
  url: URL,
  more: object = {},
): HttpAuthorization {
  const option: { readonly [way in Way]: AuthOption } = {
    'a person': { visit: agree },
    'a person at another device': { device: true },
    'a host itself': { kind: 'client-credentials', ...issuer.machine },
  };
  return authorize(
    url,
    { ...(option[way] as object), ...more },
    (_, device) => {
      if (device) issuer.decide(device.userCode, 'agreed');
    },
    new HastyClock(),
  );
}

/** The challenge of a request that had no token. */
export const without = (url: URL, wwwAuthenticate?: string) =>
  ({ status: 401, wwwAuthenticate, url: url.href, sent: {}, retries: 0 }) as const;
