/** A token that the host has got elsewhere. */
import { RuntimeError } from '../../protocol/errors.ts';
import type { Challenge, ChallengeOutcome, HttpAuthorization } from '../http/authorization.ts';
import type { BearerAuth } from './options.ts';

/** Sends the token to the server's origin alone. If it is refused and there is no other, so is the request. */
export function bearerAuthorization(server: URL, { token }: BearerAuth): HttpAuthorization {
  let holder: string | undefined;
  const headers = async (url: string): Promise<Record<string, string>> => {
    if (new URL(url).origin !== server.origin) return {};
    const given = typeof token === 'function' ? await token() : token;
    holder = given;
    return { authorization: `Bearer ${given}` };
  };
  return {
    get holder() {
      return holder;
    },
    headers,
    challenged: async ({ url, sent, retries, status }: Challenge): Promise<ChallengeOutcome> => {
      const now = await headers(url);
      const isNew = now['authorization'] !== sent['authorization'];
      if (isNew && retries === 0 && status === 401) return { kind: 'retry' };
      return {
        kind: 'refused',
        error: new RuntimeError(
          'UNAUTHORIZED',
          `${server.origin} refuses the token that the host has given (HTTP ${status})`,
          { status },
        ),
      };
    },
    begin: () => {},
    close: () => {},
  };
}
