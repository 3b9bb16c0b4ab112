/**
 * Authorization of one connection: the token for each request, and the handling of rejected ones.
 * The machine decides when to log in or refresh; this class carries it out.
 */
import { createActor, waitFor } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import { authorizationMachine, scopeUnion, scopesMissing } from './authorization.machine.ts';
import type {
  AuthorizationPort,
  RefusedAuthorization,
  TokenDemand,
  LoginInput,
  LoginOutcome,
  RefreshOutcome,
  Refusal,
} from './authorization.machine.ts';
import type {
  Challenge,
  AuthorizedScope,
  ChallengeOutcome,
  HttpAuthorization,
  MakeAuthorization,
} from '../http/authorization.ts';
import { bearerChallenge, challengeWords } from '../http/authorization.ts';
import { logInClient } from './client-login.ts';
import { memoryCredentialStore } from './credential-store.ts';
import { inspectOptions } from '../../../../src/actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { Grants } from './grants.ts';
import type { Grant } from './grants.ts';
import { loadOfficial, refusedAuthorization } from './sdk-auth.ts';
import type { SdkAuth } from './sdk-auth.ts';
import { assertUsable, defaultVisitMs } from './options.ts';
import type {
  AuthOption,
  BearerAuth,
  ClientCredentialsAuth,
  PersonAuth,
  StoredAuth,
} from './options.ts';
import { logInDevice } from './device-login.ts';
import { logInPerson } from './person-login.ts';
import type { LoginScope } from './person-login.ts';
import { renewGrant } from './refresh.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';

/**
 * Maximum resends of one request: with a newer token, with the token of a new login, and with more
 * scopes.
 */
const maxRetries = 3;

/**
 * Creates authorizations for connections to this server; undefined if the host allows no login.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the options are invalid for this server
 */
export function hostAuthorization(
  url: string | URL,
  option: AuthOption | undefined,
): MakeAuthorization | undefined {
  if (option === undefined || option === false) return undefined;
  const server = new URL(url);
  const options = option === true ? {} : option;
  assertUsable(server, options);
  if (options.kind === 'bearer') return () => bearerAuthorization(server, options);
  return (scope) => new OAuthAuthorization(server, options, scope);
}

type Snapshot = SnapshotFrom<typeof authorizationMachine>;

const isRead = (snapshot: Snapshot): boolean => !snapshot.matches('reading');

/** True unless a login or refresh is running. */
const isSettled = (snapshot: Snapshot): boolean =>
  !snapshot.matches('obtaining') && !snapshot.matches('refreshing');

class OAuthAuthorization implements HttpAuthorization, AuthorizationPort {
  /** Scope of the connection, for its watchers. */
  readonly observed: ObservedScope;
  readonly #server: URL;
  readonly #options: PersonAuth | ClientCredentialsAuth | StoredAuth;
  readonly #grants: Grants;
  readonly #clock: Clock;
  readonly #actor;
  /** The last grant known to this connection. */
  #grant: Grant | undefined;
  #official: Promise<SdkAuth> | undefined;

  constructor(
    server: URL,
    options: PersonAuth | ClientCredentialsAuth | StoredAuth,
    { asked, observed, clock }: AuthorizedScope,
  ) {
    this.#server = server;
    this.#options = options;
    this.#grants = new Grants(options.store ?? memoryCredentialStore(), server);
    const { visitTimeoutMs = defaultVisitMs } = options as PersonAuth;
    this.observed = observed;
    this.#clock = clock;
    this.#actor = createActor(authorizationMachine, {
      id: 'authorization',
      input: { port: this, visitTimeoutMs },
      clock,
      ...inspectOptions('authorization', observed),
    });
    this.#actor.on('authorization.asked', ({ url, device }) => asked(url, device));
    this.#actor.start();
  }

  get machine(): MachineActor {
    return { machine: 'authorization', actor: this.#actor };
  }

  get holder(): string | undefined {
    return this.#grant && (this.#grant.login ?? this.#grant.accessToken);
  }

  async headers(url: string): Promise<Record<string, string>> {
    if (!this.#isItsOwn(url)) return {};
    await this.#read();
    const { refreshToken, renewAt = Infinity } = this.#grant ?? {};
    if (renewAt <= Date.now() && refreshToken !== undefined) {
      this.#actor.send({ type: 'token.refused', demand: {} });
    }
    // Requests are still sent during a login: this one may need no token, or fewer scopes.
    if (this.#actor.getSnapshot().matches('refreshing')) await this.#settled();
    return this.#headers();
  }

  async challenged(challenge: Challenge): Promise<ChallengeOutcome> {
    const { status, url, sent, retries, signal } = challenge;
    if (!this.#isItsOwn(url) || retries >= maxRetries) return this.#refuse(challenge);
    await this.#read();
    if (this.#isNewerThan(sent)) return { kind: 'retry' };
    const demand: TokenDemand & { readonly error?: string | undefined } = this.#demandOf(challenge);
    if (status === 403) {
      if (demand.error !== 'insufficient_scope') return this.#refuse(challenge);
      // If the token already has these scopes, a missing scope is not the problem.
      const scope = scopesMissing(demand.scope, this.#grant?.scope);
      if (scope === undefined) return this.#refuse(challenge);
      this.#actor.send({ type: 'scope.missing', demand: { ...demand, scope } });
    } else {
      this.#actor.send({ type: retries > 0 ? 'token.useless' : 'token.refused', demand });
    }
    await this.#settled(signal);
    return this.#isNewerThan(sent) ? { kind: 'retry' } : this.#refuse(challenge);
  }

  begin(): void {
    this.#actor.send({ type: 'channel.opened' });
  }

  close(): void {
    this.#actor.send({ type: 'channel.closed' });
  }

  #isItsOwn(url: string): boolean {
    return new URL(url).origin === this.#server.origin;
  }

  #headers(): Record<string, string> {
    return this.#grant ? { authorization: `Bearer ${this.#grant.accessToken}` } : {};
  }

  #isNewerThan(sent: Challenge['sent']): boolean {
    const { authorization } = this.#headers();
    return authorization !== undefined && authorization !== sent['authorization'];
  }

  /** @throws the store cannot be read; the next request retries */
  async #read(): Promise<void> {
    this.#actor.send({ type: 'token.wanted' });
    const read = await waitFor(this.#actor, isRead);
    const { refusal } = read.context;
    if (refusal && read.matches('unread')) throw refusal.error;
  }

  async read(): Promise<'found' | 'none'> {
    this.#grant = (await this.#kept()) ?? this.#grant;
    return this.#grant ? 'found' : 'none';
  }

  /** The stored grant, unless it belongs to another client. */
  async #kept(): Promise<Grant | undefined> {
    const { clientId } = this.#options;
    const kept = await this.#grants.read();
    return clientId === undefined || clientId === kept?.client.client_id ? kept : undefined;
  }

  #load(): Promise<SdkAuth> {
    this.#official ??= loadOfficial();
    return this.#official;
  }

  #demandOf({ wwwAuthenticate }: Challenge) {
    const {
      scope,
      error,
      resource_metadata: metadata = '',
    } = bearerChallenge(wwwAuthenticate) ?? {};
    return {
      scope: scope || undefined,
      error,
      resourceMetadataUrl: URL.canParse(metadata) ? metadata : undefined,
    };
  }

  async #settled(signal?: AbortSignal): Promise<void> {
    await waitFor(this.#actor, isSettled, signal ? { signal } : {});
  }

  #refuse(challenge: Challenge): ChallengeOutcome {
    const snapshot = this.#actor.getSnapshot();
    if (snapshot.matches('resting')) {
      const error = new RuntimeError(
        'CLOSED',
        'The connection was closed before the login completed',
      );
      return { kind: 'refused', error };
    }
    const { refusal } = snapshot.context;
    const kind = refusal?.kind === 'unreachable' ? 'unreachable' : 'refused';
    return { kind, error: this.#errorOf(refusal, challenge) };
  }

  #errorOf(refusal: Refusal | undefined, challenge: Challenge): RuntimeError {
    const { status, wwwAuthenticate } = challenge;
    const cause = refusal?.error;
    if (cause instanceof RuntimeError) return cause;
    const { said, scope } = challengeWords(wwwAuthenticate);
    const lacking = scope === undefined ? '' : ` without the scope ${quoted(scope)}`;
    const reason = status === 403 ? `denied the request${lacking}` : 'rejected the token';
    return new RuntimeError(
      status === 403 && !refusal ? 'HTTP_STATUS' : 'UNAUTHORIZED',
      cause?.message ?? `${this.#server.origin} ${reason}${said} (HTTP ${status})`,
      { status, cause },
    );
  }

  async refresh(demand: TokenDemand, signal: AbortSignal): Promise<RefreshOutcome> {
    const options = this.#options;
    const refusedToken = this.#grant?.accessToken;
    if (options.kind === 'client-credentials') return { kind: 'spent', client: 'known' };
    return await renewGrant(await this.#scope(options, signal), demand, refusedToken);
  }

  /**
   * Logs in under the store's lock, so that only one connection at a time asks the person. The
   * others use the resulting grant, or see that the person declined.
   */
  async logIn(input: LoginInput, signal: AbortSignal): Promise<LoginOutcome> {
    const known = this.#grant;
    const since = Date.now();
    // The new token includes all scopes of the old one.
    const scope = input.reason === 'no token' ? input.scope : scopeUnion(known?.scope, input.scope);
    return await this.#grants.exclusive(
      'login',
      async () => {
        input.authorization.send({ type: 'login.begun' });
        const kept = await this.#kept();
        const isNewer = kept !== undefined && kept.accessToken !== known?.accessToken;
        if (isNewer && (input.reason === 'no token' || !scopesMissing(scope, kept.scope))) {
          this.#grant = kept;
          return { by: 'store', scope: kept.scope };
        }
        const declined = await this.#grants.declined();
        if (declined && declined.at > since && declined.scope === scope) {
          throw refusedAuthorization(declined.kind, declined.message);
        }
        try {
          // A newer token with insufficient scopes is replaced, keeping its scopes.
          const wanted = isNewer ? scopeUnion(kept.scope, scope) : scope;
          const grant = await this.#obtain({ ...input, scope: wanted }, signal);
          await this.#keep(grant);
          return { by: 'login', scope: grant.scope };
        } catch (error) {
          // If the person took too long, the machine ended the login and holds the reason.
          const { context } = this.#actor.getSnapshot();
          await this.#tellDeclined(
            signal.aborted ? context : (error as Partial<RefusedAuthorization>),
            scope,
          );
          throw error;
        }
      },
      signal,
    );
  }

  /** Records the refusal so that waiting logins do not ask the person again. */
  async #tellDeclined(
    { refusal }: { readonly refusal?: Refusal | undefined },
    scope: string | undefined,
  ): Promise<void> {
    if (refusal?.kind !== 'declined' && refusal?.kind !== 'unanswered') return;
    const { kind, error: cause } = refusal;
    await this.#grants.writeDeclined({ at: Date.now(), scope, kind, message: cause.message });
  }

  async #obtain(wanted: LoginInput, signal: AbortSignal): Promise<Grant> {
    const options = this.#options;
    if (options.kind === 'client-credentials') {
      return await logInClient(await this.#scope(options, signal), wanted);
    }
    if (options.kind === 'stored') {
      throw refusedAuthorization(
        'declined',
        `No valid login for ${this.#server.href} is stored: run mcp-actors login`,
      );
    }
    const logInBy = options.device ? logInDevice : logInPerson;
    return await logInBy(await this.#scope(options, signal), wanted);
  }

  /** Uses the grant even if storing it fails. */
  async #keep(grant: Grant): Promise<void> {
    this.#grant = grant;
    await this.#grants.write(grant);
  }

  async #scope<TOptions>(options: TOptions, signal: AbortSignal): Promise<LoginScope<TOptions>> {
    return {
      official: await this.#load(),
      server: this.#server,
      options,
      grants: this.#grants,
      keep: (grant) => this.#keep(grant),
      use: (grant) => {
        this.#grant = grant;
      },
      signal,
      clock: this.#clock,
    };
  }
}

/**
 * Sends a given token, only to the server's origin. If the token is rejected and no other one is
 * available, the request fails.
 */
function bearerAuthorization(server: URL, { token }: BearerAuth): HttpAuthorization {
  let holder: string | undefined;
  const headers = async (url: string, refused?: string): Promise<Record<string, string>> => {
    if (new URL(url).origin !== server.origin) return {};
    const given = typeof token === 'function' ? await token(refused) : token;
    holder = given;
    return { authorization: `Bearer ${given}` };
  };
  return {
    get holder() {
      return holder;
    },
    headers: (url) => headers(url),
    challenged: async ({ url, sent, retries, status }: Challenge): Promise<ChallengeOutcome> => {
      const now = await headers(url, sent['authorization']?.replace('Bearer ', ''));
      const isNew = now['authorization'] !== sent['authorization'];
      if (isNew && retries === 0 && status === 401) return { kind: 'retry' };
      return {
        kind: 'refused',
        error: new RuntimeError(
          'UNAUTHORIZED',
          `${server.origin} rejected the configured token (HTTP ${status})`,
          { status },
        ),
      };
    },
    begin: () => {},
    close: () => {},
  };
}
