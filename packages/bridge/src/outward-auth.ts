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
 * Exchanges the client's token for one of the bridged server: see `tokenExchange` of the bridge's `authorization`.
 *
 * @see RFC 8693
 */
export interface ExchangeAuth extends Pick<WantedToken, 'audience' | 'scope'> {
  /** Discriminator of {@link BridgeAuth}. */
  readonly kind: 'exchange';
  /** URL of the bridged server at the authorization server. Default: the entry's URL, unless `audience` is set. */
  readonly resource?: string | undefined;
}

/** A stored login of the client's principal. The bridge never asks a person to log in. */
export interface PrincipalAuth extends Omit<StoredAuth, 'store'> {
  /**
   * Store of logins: one for all clients, or a function of the principal, which is undefined for a client without
   * authorization. Default: a folder per principal, and for other clients the folder of the user who runs the bridge.
   */
  readonly store?: CredentialStore | ((principal: Principal | undefined) => CredentialStore);
}

/** Source of the token that a bridge sends to a server. */
export type BridgeAuth = AuthOption | ExchangeAuth | PrincipalAuth;

/** Chooses the token of each client of one entry. */
export class OutwardAuth {
  readonly #auth: BridgeAuth | undefined;
  readonly #entry: ServerEntry;

  constructor(auth: BridgeAuth | undefined, entry: ServerEntry) {
    const isOwn = typeof auth === 'object' && auth.kind === 'client-credentials';
    // The bridge has one login for all its clients.
    this.#auth = isOwn ? { store: memoryCredentialStore(), ...auth } : auth;
    this.#entry = entry;
  }

  /** The auth option for the connection of a client. */
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
