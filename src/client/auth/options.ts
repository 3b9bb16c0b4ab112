/** How a host allows authorization, and what it brings for it. */
import { RuntimeError } from '../../protocol/errors.ts';
import type { CredentialStore } from './credential-store.ts';
import { isLoopback } from './guarded-fetch.ts';

/** What every way of getting a token has in common. */
interface Granting {
  /** The scopes to ask for if the server names none, separated by spaces. */
  readonly scope?: string;
  /** Where tokens and registrations are kept. By default in memory, for this connection alone. */
  readonly store?: CredentialStore;
  /**
   * The only issuer that `clientId` is for. Without it, the first authorization server that the
   * resource names gets to see it, and no other after that.
   */
  readonly issuer?: string;
}

/** A person logs in, in a browser. */
export interface PersonAuth extends Granting {
  /** Tells it from other ways to log in; it is the default. */
  readonly kind?: 'person';
  /**
   * Where the authorization server sends the person back to. By default a port of `127.0.0.1` that is
   * free, and is listened on while the person is away. On loopback, that port is listened on.
   * Elsewhere `visit` has to bring the answer.
   */
  readonly redirectUrl?: string;
  /**
   * Shows the URL to a person, and resolves to the URL that they were sent back to, whole. By default
   * the system's browser is opened, and the answer comes to `redirectUrl`.
   */
  readonly visit?: (url: URL, visit: { readonly signal: AbortSignal }) => Promise<string | URL>;
  /**
   * How long that may take, milliseconds (5 minutes). The login as a whole has `limits.loginTimeoutMs`
   * of the connection, by default 30 s more.
   */
  readonly visitTimeoutMs?: number;
  /** The client, if it is registered already. */
  readonly clientId?: string;
  /** For a client that has one; most that run on a person's machine have none. */
  readonly clientSecret?: string;
  /** The URL of a metadata document of the client's: its id, if the server knows such ids. */
  readonly clientMetadataUrl?: string;
  /** Shown to the person. By default `mcp-actors`. */
  readonly clientName?: string;
}

/** The host logs in for itself, with a secret or with a key that it signs with. */
export interface ClientCredentialsAuth extends Granting {
  /** Tells it from other ways to log in. */
  readonly kind: 'client-credentials';
  /** As the authorization server knows the host. */
  readonly clientId: string;
  /** Sent as HTTP Basic authentication, or as the authorization server has it. */
  readonly clientSecret?: string;
  /** PKCS #8 in PEM: signs an assertion in place of a secret (RFC 7523). */
  readonly privateKey?: string;
  /** What it signs with, such as `ES256` (the default) or `RS256`. */
  readonly algorithm?: string;
}

/** A token that the host has got elsewhere. */
export interface BearerAuth {
  /** Tells it from other ways to log in. */
  readonly kind: 'bearer';
  /** A function is asked again when the server refuses what it gave last. */
  readonly token: string | (() => string | Promise<string>);
}

/** How long a person may take for a visit if the host does not say, milliseconds. */
export const defaultVisitMs = 5 * 60_000;

/** What a login takes beside the person's visit: finding the way there, and the tokens, milliseconds. */
const besideVisitMs = 30_000;
/** The longest delay that a timer of the platform takes. */
const longestMs = 2 ** 31 - 1;

/**
 * How long a login may take in all, so that a visit has its time; undefined if the defaults will do.
 *
 * @param given how long the host gives it
 * @throws {RangeError} `given` would cut the visit
 */
export function loginTimeFor(
  auth: AuthOption | undefined,
  given: number | undefined,
): number | undefined {
  const visitMs =
    typeof auth === 'object' && 'visitTimeoutMs' in auth ? auth.visitTimeoutMs : undefined;
  if (visitMs === undefined) return given;
  if (given === undefined) return Math.min(visitMs + besideVisitMs, longestMs);
  if (given >= visitMs) return given;
  throw new RangeError(
    `limits.loginTimeoutMs, ${given}, must not be less than auth.visitTimeoutMs, ${visitMs}: a login takes the visit and more`,
  );
}

/** What a server's entry may say of the client. */
type EntryClient = Pick<PersonAuth, 'clientId' | 'clientSecret' | 'clientMetadataUrl'> & {
  readonly callbackPort?: number;
};

/**
 * A person's login with the client that a server's entry names; other ways to log in stay as they are.
 */
export function authWith(
  auth: AuthOption | undefined,
  client: EntryClient | undefined,
): AuthOption | undefined {
  if (!auth || client === undefined) return auth;
  if (auth !== true && auth.kind !== undefined && auth.kind !== 'person') return auth;
  const { callbackPort, ...registered } = client;
  return {
    ...(auth === true ? {} : auth),
    ...registered,
    ...(callbackPort === undefined
      ? {}
      : { redirectUrl: `http://127.0.0.1:${callbackPort}/callback` }),
  };
}

/** `true`: a person logs in, with all defaults. */
export type AuthOption = boolean | PersonAuth | ClientCredentialsAuth | BearerAuth;

/**
 * @throws {RuntimeError} CONFIG_INVALID: what is given cannot be used; the message names it
 */
export function assertUsable(
  server: URL,
  options: PersonAuth | ClientCredentialsAuth | BearerAuth,
): void {
  const fault = faultOf(server, options);
  if (fault !== undefined) throw new RuntimeError('CONFIG_INVALID', `auth: ${fault}`);
}

function faultOf(
  server: URL,
  options: PersonAuth | ClientCredentialsAuth | BearerAuth,
): string | undefined {
  if (server.protocol !== 'https:' && !isLoopback(server)) {
    return `no token is sent to ${server.origin}: it must begin with https:// (http:// on loopback alone)`;
  }
  if (options.kind === 'bearer') {
    return options.token === '' ? '"token" must not be empty' : undefined;
  }
  if (options.issuer !== undefined && !URL.canParse(options.issuer)) {
    return `"issuer" must be a URL, not ${JSON.stringify(options.issuer)}`;
  }
  return options.kind === 'client-credentials' ? faultOfClient(options) : faultOfPerson(options);
}

function faultOfClient({ clientId, clientSecret, privateKey }: ClientCredentialsAuth) {
  if (!clientId) return '"clientId" is missing';
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    return 'give either "clientSecret" or "privateKey"';
  }
  return undefined;
}

function faultOfPerson(options: PersonAuth): string | undefined {
  const { redirectUrl, visit, visitTimeoutMs, clientId, clientSecret, clientMetadataUrl } = options;
  if (clientSecret !== undefined && clientId === undefined) {
    return '"clientSecret" is of no use without "clientId"';
  }
  if (visitTimeoutMs !== undefined && !(visitTimeoutMs >= 1 && visitTimeoutMs < 2 ** 31)) {
    return `"visitTimeoutMs" must be from 1 to 2147483647, not ${visitTimeoutMs}`;
  }
  if (clientMetadataUrl !== undefined && !isMetadataUrl(clientMetadataUrl)) {
    return `"clientMetadataUrl" must be an https:// URL with a path, not ${JSON.stringify(clientMetadataUrl)}`;
  }
  if (redirectUrl === undefined) return undefined;
  if (!URL.canParse(redirectUrl)) {
    return `"redirectUrl" must be a URL, not ${JSON.stringify(redirectUrl)}`;
  }
  const url = new URL(redirectUrl);
  if (visit || (url.protocol === 'http:' && isLoopback(url))) return undefined;
  return `nothing listens at "redirectUrl" ${url.origin}: give "visit", or http:// on loopback`;
}

function isMetadataUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname } = new URL(text);
  return protocol === 'https:' && pathname !== '/';
}
