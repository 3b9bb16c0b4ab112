/** Authorization options of a host. */
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { DevicePrompt } from '../channel/connection-ports.ts';
import type { CredentialStore } from './credential-store.ts';
import { isLoopback } from '../../../../src/protocol/oauth.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** Options shared by all ways of obtaining a token. */
interface Granting {
  /** Scopes to request if the server names none, separated by spaces. */
  readonly scope?: string;
  /** Store for tokens and registrations. Default: in memory, for this connection only. */
  readonly store?: CredentialStore;
  /**
   * The only issuer that may receive `clientId`. Default: the first authorization server that the
   * resource names.
   */
  readonly issuer?: string;
}

/** Login instructions for a person, as sent by the authorization server. */
export interface LoginPrompt {
  /** URL of the MCP server that requires the login. */
  readonly server: string;
  /** URL to open. */
  readonly url: string;
  /** The code to enter, if the URL may be opened on any device. */
  readonly device?: DevicePrompt | undefined;
}

/** Login by a person, in a browser here or on another device. */
export interface PersonAuth extends Granting {
  /** Discriminator; the default kind. */
  readonly kind?: 'person';
  /**
   * Redirect target of the authorization server. Default: a free port on `127.0.0.1`, open during
   * the login. A loopback URL is listened on in the same way; any other URL needs `visit`.
   */
  readonly redirectUrl?: string;
  /**
   * Shows the URL to a person, and resolves to the complete URL that they were redirected to.
   * Default: opens the system's browser and listens at `redirectUrl`.
   */
  readonly visit?: (url: URL, visit: { readonly signal: AbortSignal }) => Promise<string | URL>;
  /**
   * Time limit for the person, ms. Default: 5 minutes. The whole login is limited by the
   * connection's `limits.loginTimeoutMs`, by default 30 s more.
   */
  readonly visitTimeoutMs?: number;
  /**
   * Called with the URL to open, and the code to enter, if any. The event `authorize` carries the
   * same data, but the connection that `connect` returns can only be listened to once it is ready.
   */
  readonly ask?: (prompt: LoginPrompt) => void;
  /**
   * Device login, for a machine without a browser: the person enters a code on any other device.
   * `ask` and the event `authorize` carry the code and the page. The authorization server must
   * support it.
   *
   * @see RFC 8628
   */
  readonly device?: boolean;
  /** Id of a registered client. Default: dynamic registration. */
  readonly clientId?: string;
  /** Secret of the registered client; most clients on a person's machine have none. */
  readonly clientSecret?: string;
  /** URL of the client's metadata document, used as client id if the server supports such ids. */
  readonly clientMetadataUrl?: string;
  /** Client name shown to the person. Default: `mcp-actors`. */
  readonly clientName?: string;
}

/** Login of the host as itself, with a secret or a signing key. */
export interface ClientCredentialsAuth extends Granting {
  /** Discriminator. */
  readonly kind: 'client-credentials';
  /** Client id at the authorization server. */
  readonly clientId: string;
  /**
   * Sent with HTTP Basic authentication, or with the method that the authorization server requires.
   */
  readonly clientSecret?: string;
  /** PKCS #8 key in PEM, to sign an assertion instead of sending a secret (RFC 7523). */
  readonly privateKey?: string;
  /** Signing algorithm, such as `ES256` (default) or `RS256`. */
  readonly algorithm?: string;
}

/**
 * A login from the store, such as one of `mcp-actors login`. It is refreshed, and never asks a
 * person.
 */
export interface StoredAuth extends Granting, Pick<PersonAuth, 'clientId' | 'clientSecret'> {
  /** Discriminator. */
  readonly kind: 'stored';
}

/** A token obtained elsewhere. */
export interface BearerAuth {
  /** Discriminator. */
  readonly kind: 'bearer';
  /**
   * The token, or a function called for each request, and again with the token that the server
   * rejected.
   */
  readonly token: string | ((refused: string | undefined) => string | Promise<string>);
}

/** Default of `visitTimeoutMs`. */
export const defaultVisitMs = 5 * 60_000;

/** Time for discovery and token requests, ms. */
const besideVisitMs = 30_000;

/**
 * Time limit of a whole login, long enough for the person's part; undefined if the default
 * suffices.
 *
 * @param given the limit set by the host
 * @throws {RangeError} `given` is shorter than the person's part
 */
export function loginTimeFor(
  auth: AuthOption | undefined,
  given: number | undefined,
): number | undefined {
  const visitMs =
    typeof auth === 'object' && 'visitTimeoutMs' in auth ? auth.visitTimeoutMs : undefined;
  if (visitMs === undefined) return given;
  if (given === undefined) return Math.min(visitMs + besideVisitMs, maxDelayMs);
  if (given >= visitMs) return given;
  throw new RangeError(
    `limits.loginTimeoutMs must be at least auth.visitTimeoutMs (${visitMs}), got ${given}`,
  );
}

/** Client settings in a server entry. */
type EntryClient = Pick<PersonAuth, 'clientId' | 'clientSecret' | 'clientMetadataUrl'> & {
  readonly callbackPort?: number;
};

/** Adds the client of a server entry to a person's or stored login; other kinds are unchanged. */
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

/** `true` means a person's login with defaults. */
export type AuthOption = boolean | PersonAuth | ClientCredentialsAuth | StoredAuth | BearerAuth;

/** @throws {RuntimeError} CONFIG_INVALID: an option is invalid; the message names it */
export function assertUsable(server: URL, options: Exclude<AuthOption, boolean>): void {
  const fault = faultOf(server, options);
  if (fault !== undefined) throw new RuntimeError('CONFIG_INVALID', `auth: ${fault}`);
}

function faultOf(server: URL, options: Exclude<AuthOption, boolean>): string | undefined {
  if (server.protocol !== 'https:' && !isLoopback(server)) {
    return `the server URL must use https:// (or http:// on loopback), got ${server.origin}`;
  }
  if (options.kind === 'bearer') {
    return options.token === '' ? '"token" must not be empty' : undefined;
  }
  if (options.issuer !== undefined && !URL.canParse(options.issuer)) {
    return `"issuer" must be a URL, got ${JSON.stringify(options.issuer)}`;
  }
  if (options.kind === 'client-credentials') return validateClientCredentials(options);
  return validatePersonAuth(options);
}

function validateClientCredentials({ clientId, clientSecret, privateKey }: ClientCredentialsAuth) {
  if (!clientId) return '"clientId" is missing';
  if ((clientSecret === undefined) === (privateKey === undefined)) {
    return 'set either "clientSecret" or "privateKey"';
  }
  return undefined;
}

function validatePersonAuth(options: Omit<PersonAuth, 'kind'>): string | undefined {
  const { redirectUrl, visit, visitTimeoutMs, clientId, clientSecret, clientMetadataUrl } = options;
  if (clientSecret !== undefined && clientId === undefined) {
    return '"clientSecret" requires "clientId"';
  }
  if (visitTimeoutMs !== undefined && !(visitTimeoutMs >= 1 && visitTimeoutMs < 2 ** 31)) {
    return `"visitTimeoutMs" must be from 1 to 2147483647, got ${visitTimeoutMs}`;
  }
  if (clientMetadataUrl !== undefined && !isMetadataUrl(clientMetadataUrl)) {
    return `"clientMetadataUrl" must be an https:// URL with a path, got ${JSON.stringify(clientMetadataUrl)}`;
  }
  if (options.device && (visit || redirectUrl !== undefined)) {
    return '"device" excludes "visit" and "redirectUrl": device logins have no redirect';
  }
  if (redirectUrl === undefined) return undefined;
  if (!URL.canParse(redirectUrl)) {
    return `"redirectUrl" must be a URL, got ${JSON.stringify(redirectUrl)}`;
  }
  const url = new URL(redirectUrl);
  if (visit || (url.protocol === 'http:' && isLoopback(url))) return undefined;
  return `"redirectUrl" must be http:// on loopback, got ${url.origin}: or set "visit"`;
}

function isMetadataUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, pathname } = new URL(text);
  return protocol === 'https:' && pathname !== '/';
}
