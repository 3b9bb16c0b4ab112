/** A host's authorization in a test, and what it is refused with. */
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { unobserved } from '../../../../src/actors/transitions.ts';
import type { CredentialStore } from '../../src/auth/credential-store.ts';
import { hostAuthorization } from '../../src/auth/host-authorization.ts';
import type { AuthOption } from '../../src/auth/options.ts';
import type { AskPerson } from '../../src/channel/channel-kind.ts';
import type { HttpAuthorization } from '../../src/http/authorization.ts';
import type { Called } from './protected-server.ts';

/** An authorization whose channel is open until the test ends, and the URLs it has told. */
export function authorize(
  url: URL,
  option: AuthOption,
  tell: AskPerson = () => {},
  clock: Clock = systemClock,
): HttpAuthorization & { readonly asked: readonly string[] } {
  const asked: string[] = [];
  const authorization = hostAuthorization(
    url,
    option,
  )?.({
    asked: (where, device) => {
      asked.push(where);
      tell(where, device);
    },
    observed: unobserved,
    clock,
  });
  if (!authorization) throw new Error('It is not allowed');
  authorization.begin();
  onTestFinished(() => authorization.close());
  return Object.assign(authorization, { asked });
}

/** What a call was refused with. */
export const refusal = (called: Called) =>
  'kind' in called ? `${called.kind}: ${called.error.message}` : called;

/** A change of a URL's query. */
export const query = (change: (params: URLSearchParams) => void) => (url: URL) => {
  change(url.searchParams);
  return url;
};

/** The same store. It tells of each lock that somebody waits for, or takes. */
export function watchedStore(
  store: CredentialStore,
  wanted: (key: string) => void,
): CredentialStore {
  return {
    ...store,
    exclusive: (key, work, signal) => {
      const taken = store.exclusive(key, work, signal);
      wanted(key);
      return taken;
    },
  };
}
