/** `auth` of a server in a file: with which token a bridge goes there. Other readers leave it alone. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { shownEntry } from './config-problem.ts';

/** See `BridgeAuth` of `mcp-actors/bridge`, which has these too. */
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

/** The members of each kind; true: it must be there. */
const members: { readonly [kind: string]: { readonly [name: string]: boolean } } = {
  exchange: { audience: false, resource: false, scope: false },
  'client-credentials': { clientId: true, clientSecret: true, issuer: false, scope: false },
  stored: {},
};

/** Those that are URLs. */
const urls = new Set(['resource', 'issuer']);

/**
 * Reads `auth`. Other hosts have a key of that name: a text that is not one of the kinds, or an object without `kind`.
 *
 * @param tell gets the faults, by the key within the entry
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
