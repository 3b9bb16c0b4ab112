/** `auth` of a server entry: the token a bridge uses there. Other readers ignore it. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { shownEntry } from './config-problem.ts';

/** Authorization of a bridge; see `BridgeAuth` of `mcp-actors/bridge`. */
export type BridgedLogin =
  | {
      readonly kind: 'exchange';
      readonly audience?: string;
      readonly resource?: string;
      readonly scope?: string;
    }
  | {
      readonly kind: 'client-credentials';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly issuer?: string;
      readonly scope?: string;
    }
  | { readonly kind: 'stored' };

/** Members of each kind; true if required. */
const members: { readonly [kind: string]: { readonly [name: string]: boolean } } = {
  exchange: { audience: false, resource: false, scope: false },
  'client-credentials': { clientId: true, clientSecret: true, issuer: false, scope: false },
  stored: {},
};

/** Members that are URLs. */
const urls = new Set(['resource', 'issuer']);

/**
 * Parses `auth`. Other hosts use a key of that name differently: as a text outside these kinds, or
 * as an object without `kind`.
 *
 * @param tell receives the faults, by key within the entry
 */
export function bridgedLogin(
  auth: unknown,
  tell: (key: string, message: string) => void,
): BridgedLogin | undefined {
  const given = typeof auth === 'string' && Object.hasOwn(members, auth) ? { kind: auth } : auth;
  if (!isJsonObject(given) || typeof given['kind'] !== 'string') return undefined;
  const { kind, ...rest } = given;
  const known = Object.hasOwn(members, kind) ? members[kind] : undefined;
  if (!known) {
    tell('auth.kind', `${shownEntry('', kind)} is not one of ${Object.keys(members).join(', ')}`);
    return undefined;
  }
  for (const [name, value] of Object.entries(rest)) {
    const key = `auth.${name}`;
    if (!Object.hasOwn(known, name)) {
      const names = Object.keys(known).join(', ') || 'nothing but kind';
      tell(key, `it is not known; ${kind} has ${names}`);
    } else if (typeof value !== 'string' || value === '') {
      tell(key, `${shownEntry(key, value)} is not a text`);
    } else if (urls.has(name) && !URL.canParse(value)) {
      tell(key, `${shownEntry(key, value)} is not a URL`);
    }
  }
  for (const [name, isNeeded] of Object.entries(known)) {
    if (isNeeded && rest[name] === undefined) tell(`auth.${name}`, `${kind} needs it`);
  }
  return given as unknown as BridgedLogin;
}
