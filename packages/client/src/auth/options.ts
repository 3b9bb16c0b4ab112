/** The options with which a host allows authorization. */
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { DevicePrompt } from '../channel/connection-ports.ts';
import type { CredentialStore } from './credential-store.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';
import { longestDelayMs } from '../../../../src/actors/clock.ts';

/** The options that every way of getting a token shares. */
interface Granting {
  /** The scopes to request if the server names none, separated by spaces. */
  readonly scope?: string;
  /** Where tokens and registrations are kept. By default in memory, for this connection alone. */
  readonly store?: CredentialStore;
  /**
   * The only issuer that `clientId` is for. By default it is the first authorization server that
   * the resource names; no other one gets to see it.
   */
  readonly issuer?: string;
}

/** What a person must open to log in. All of it is from the authorization server. */
export interface LoginPrompt {
  /** The URL of the server that they log in at. */
  readonly server: string;
  /** The URL to open. */
  readonly url: string;
  /** The code to enter, if they may open it on any device. */
  readonly device?: DevicePrompt | undefined;
}

/** A person logs in, in a browser here or on another device. */
export interface PersonAuth extends Granting {
  /** Distinguishes it from other ways to log in; it is the default. */
  readonly kind?: 'person';
  /**
   * Where the authorization server sends the person back to. By default a free port on `127.0.0.1`,
   * which listens while the person is away. A loopback URL is listened on in the same way; for any
   * other URL, `visit` must bring the answer.
   */
  readonly redirectUrl?: string;
  /**
   * Shows the URL to a person, and resolves to the complete URL that they were sent back to. By
   * default the system's browser is opened, and the answer comes to `redirectUrl`.
   */
  readonly visit?: (url: URL, visit: { readonly signal: AbortSignal }) => Promise<string | URL>;
  /**
   * How long the visit may take, milliseconds; 5 minutes by default. The whole login may take the
   * connection's `limits.loginTimeoutMs`, by default 30 s more.
   */
  readonly visitTimeoutMs?: number;
  /**
   * Called with what the person must open, and with the code to enter if there is one. The event
   * `authorize` has the same, but what `connect` gives can only be listened to once it is ready.
   */
  readonly ask?: (prompt: LoginPrompt) => void;
  /**
   * For a machine without a browser: the person enters a code on any other device. `ask` and the event
   * `authorize` get the code and where to enter it. The authorization server has to support this.
   *
   * @see RFC 8628
   */
  readonly device?: boolean;
  /** The client, if it is registered already. */
  readonly clientId?: string;
  /** If the client has a secret; most clients on a person's machine have none. */
  readonly clientSecret?: string;
  /** The URL of the client's metadata document. It is the client's id, if the server knows such ids. */
  readonly clientMetadataUrl?: string;
  /** Shown to the person. By default `mcp-actors`. */
  readonly clientName?: string;
}

/** The host logs in as itself, with a secret or a signing key. */
export interface ClientCredentialsAuth extends Granting {
  /** Distinguishes it from other ways to log in. */
  readonly kind: 'client-credentials';
  /** The host's id at the authorization server. */
  readonly clientId: string;
  /** Sent as HTTP Basic authentication, or by the method that the authorization server requires. */
  readonly clientSecret?: string;
  /** A PKCS #8 key in PEM: signs an assertion instead of sending a secret (RFC 7523). */
  readonly privateKey?: string;
  /** The signing algorithm, such as `ES256` (the default) or `RS256`. */
  readonly algorithm?: string;
}

/** A login that is kept already, such as one of `mcp-actors login`: it is renewed, and a person is never asked. */
export interface StoredAuth extends Granting, Pick<PersonAuth, 'clientId' | 'clientSecret'> {
  /** Distinguishes it from other ways to log in. */
  readonly kind: 'stored';
}

/** A token that the host has got elsewhere. */
export interface BearerAuth {
  /** Distinguishes it from other ways to log in. */
  readonly kind: 'bearer';
  /** A function is called for each request, and once more with the token that the server has refused. */
  readonly token: string | ((refused: string | undefined) => string | Promise<string>);
}

/** The default for `visitTimeoutMs`, milliseconds. */
export const defaultVisitMs = 5 * 60_000;

/** The time for the rest of a login, discovery and tokens, milliseconds. */
const besideVisitMs = 30_000;

/**
 * How long a login may take in all, so that the visit has its time; undefined if the defaults
 * suffice.
 *
 * @param given the limit that the host sets
 * @throws {RangeError} `given` would cut the visit
 */
export function loginTimeFor(
  auth: AuthOption | undefined,
  given: number | undefined,
): number | undefined {
  const visitMs =
    typeof auth === 'object' && 'visitTimeoutMs' in auth ? auth.visitTimeoutMs : undefined;
  if (visitMs === undefined) return given;
  if (given === undefined) return Math.min(visitMs + besideVisitMs, longestDelayMs);
  if (given >= visitMs) return given;
  throw new RangeError(
    `limits.loginTimeoutMs, ${given}, must not be less than auth.visitTimeoutMs, ${visitMs}: a login takes the visit and more`,
  );
}

/** What a server's entry may say about the client. */
type EntryClient = Pick<PersonAuth, 'clientId' | 'clientSecret' | 'clientMetadataUrl'> & {
  readonly callbackPort?: number;
};

/**
 * Adds the client that a server's entry names to a person's login; other ways to log in are
 * unchanged.
 */
export function authWith(
  auth: AuthOption | undefined,
  client: EntryClient | undefined,
): AuthOption | undefined {
  if (!auth || client === undefined) return auth;
  const { callbackPort, ...registered } = client;
  if (auth !== true && auth.kind === 'stored') {
    const { clientId, clientSecret } = registered;
    return {
      ...auth,
      ...(clientId === undefined ? {} : { clientId }),
      ...(clientSecret === undefined ? {} : { clientSecret }),
    };
  }
  if (auth !== true && auth.kind !== undefined && auth.kind !== 'person') return auth;
  const person = auth === true ? {} : auth;
  return {
    ...person,
    ...registered,
    ...(callbackPort === undefined || person.device
      ? {}
      : { redirectUrl: `http://127.0.0.1:${callbackPort}/callback` }),
  };
}

/** `true`: a person logs in, with all defaults. */
export type AuthOption = boolean | PersonAuth | ClientCredentialsAuth | StoredAuth | BearerAuth;

/** @throws {RuntimeError} CONFIG_INVALID: an option cannot be used; the message names it */
export function assertUsable(server: URL, options: Exclude<AuthOption, boolean>): void {
  const fault = faultOf(server, options);
  if (fault !== undefined) throw new RuntimeError('CONFIG_INVALID', `auth: ${fault}`);
}

function faultOf(server: URL, options: Exclude<AuthOption, boolean>): string | undefined {
  if (server.protocol !== 'https:' && !isLoopback(server)) {
    return `no token is sent to ${server.origin}: it must begin with https:// (http:// on loopback alone)`;
  }
  if (options.kind === 'bearer') {
    return options.token === '' ? '"token" must not be empty' : undefined;
  }
  if (options.issuer !== undefined && !URL.canParse(options.issuer)) {
    return `"issuer" must be a URL, not ${JSON.stringify(options.issuer)}`;
  }
  if (options.kind === 'client-credentials') return validateClientCredentials(options);
  return validatePersonAuth(options);
}

function validateClientCredentials({ clientId, clientSecret, privateKey }: ClientCredentialsAuth) {
  if (!clientId) return '"clientId" is missing';
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    return 'give either "clientSecret" or "privateKey"';
  }
  return undefined;
}

function validatePersonAuth(options: Omit<PersonAuth, 'kind'>): string | undefined {
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
  if (options.device && (visit || redirectUrl !== undefined)) {
    return '"device" goes with neither "visit" nor "redirectUrl": nobody is sent back here';
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
