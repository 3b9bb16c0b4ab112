/**
 * With which token a bridge goes to a server at a URL, on behalf of one client. The token that the
 * client has sent to the bridge is never among them: it was issued for the bridge.
 *
 * @see MCP 2026-07-28, basic/authorization, "Access Token Privilege Restriction"
 */
import { memoryCredentialStore } from '../../client/src/auth/credential-store.ts';
import type { CredentialStore } from '../../client/src/auth/credential-store.ts';
import { fileCredentialStore, principalCredentialStore } from '../../client/src/auth/file-store.ts';
import type { AuthOption, StoredAuth } from '../../client/src/auth/options.ts';
import type { ServerEntry } from '../../client/src/connection/options.ts';
import type { UpstreamClient } from '../../../src/server/define/upstream.ts';
import type { Principal, WantedToken } from '../../../src/protocol/request-origin.ts';

/**
 * The client's token is exchanged for one of the bridged server: see `tokenExchange` of the bridge's
 * `authorization`.
 *
 * @see RFC 8693
 */
export interface ExchangeAuth extends Pick<WantedToken, 'audience' | 'scope'> {
  /** Distinguishes it from other ways to get a token. */
  readonly kind: 'exchange';
  /** The URL of the bridged server at the authorization server; by default that of the entry, unless there is an `audience`. */
  readonly resource?: string | undefined;
}

/** A login of the client's principal that is kept already. A person is never asked for one. */
export interface PrincipalAuth extends Omit<StoredAuth, 'store'> {
  /**
   * The logins of a principal, by a function; it gets undefined for a client without authorization. By
   * default a folder for each principal, and for the others that of the person who has started the
   * bridge. A store that is given itself is for everybody.
   */
  readonly store?: CredentialStore | ((principal: Principal | undefined) => CredentialStore);
}

/** With which token a bridge goes to a server. */
export type BridgeAuth = AuthOption | ExchangeAuth | PrincipalAuth;

/** Chooses the token of each client of one entry. */
export class OutwardAuth {
  readonly #auth: BridgeAuth | undefined;
  readonly #entry: ServerEntry;

  constructor(auth: BridgeAuth | undefined, entry: ServerEntry) {
    const isOwn = typeof auth === 'object' && auth.kind === 'client-credentials';
    // The bridge itself is logged in, once for all its clients.
    this.#auth = isOwn ? { store: memoryCredentialStore(), ...auth } : auth;
    this.#entry = entry;
  }

  /** For the connection of this client. */
  of(client: Pick<UpstreamClient, 'exchangeToken' | 'principal'>): AuthOption | undefined {
    const auth = this.#auth;
    if (typeof auth !== 'object' || !('url' in this.#entry)) return auth as AuthOption | undefined;
    if (auth.kind === 'exchange') return this.#exchanging(auth, client);
    if (auth.kind !== 'stored') return auth;
    const { store = storeOf, ...login } = auth;
    return { ...login, store: typeof store === 'function' ? store(client.principal) : store };
  }

  #exchanging(
    { audience, resource, scope }: ExchangeAuth,
    client: Pick<UpstreamClient, 'exchangeToken'>,
  ): AuthOption {
    const url = 'url' in this.#entry ? new URL(this.#entry.url) : undefined;
    if (url) url.hash = '';
    const wanted = { audience, scope, resource: resource ?? (audience ? undefined : url?.href) };
    return {
      kind: 'bearer',
      token: async (refused) => (await client.exchangeToken({ ...wanted, refused })).accessToken,
    };
  }
}

const storeOf = (principal: Principal | undefined): CredentialStore =>
  principal ? principalCredentialStore(principal.id) : fileCredentialStore();
