/**
 * Authorization of a client at one resource: when to log in, when to refresh, and when to give up.
 *
 * The machine sees neither tokens nor codes; its port reads, obtains and stores them. `logIn`
 * obtains a grant and reports its progress, `refresh` renews one. At most one of them runs, however
 * many requests were rejected: each rejected request sends the same event and waits until the state
 * is `authorized` or `refused`.
 *
 * @see MCP 2025-11-25, basic/authorization
 */
import type { DevicePrompt } from '../channel/connection-ports.ts';
import { assign, emit, fromPromise, setup } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import type { Ref } from '../../../../src/machines/port.ts';

/** Reason for having no token. */
export type RefusalKind =
  /** The person, or the authorization server on their behalf, declined. */
  | 'declined'
  /** The person did not answer in time. */
  | 'unanswered'
  /** The server violates a security requirement of the specification. */
  | 'unsafe'
  /** A server could not be reached or failed. A retry may succeed. */
  | 'unreachable';

/** Reason for having no token. The error contains no secret. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly error: Error;
}

/** Token requirements from a server's challenge. */
export interface TokenDemand {
  /** Required scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** URL of the resource's metadata (RFC 9728). */
  readonly resourceMetadataUrl?: string | undefined;
}

/** Progress of a login. */
export type LoginReport =
  /** The login lock is held: no other connection or process is logging in. */
  | { readonly type: 'login.begun' }
  /** The person must open this URL. */
  | {
      readonly type: 'login.asked';
      readonly url: string;
      /** The code to enter, if the login may happen on another device. */
      readonly device?: DevicePrompt | undefined;
    }
  /** The person finished, and the response is valid. */
  | { readonly type: 'login.answered' };

/** Events of the authorization machine. */
export type AuthorizationEvent =
  /** A request is about to be sent. */
  | { readonly type: 'token.wanted' }
  /** The server requires a token, or rejected this one. */
  | { readonly type: 'token.refused'; readonly demand: TokenDemand }
  /** The server also rejected a newer token, right after the previous one. */
  | { readonly type: 'token.useless'; readonly demand: TokenDemand }
  /** The token is valid but lacks scopes. */
  | { readonly type: 'scope.missing'; readonly demand: TokenDemand }
  /** A channel opened: an earlier refusal is reconsidered. */
  | { readonly type: 'channel.opened' }
  /** The channel closed. No login starts until the next one opens. */
  | { readonly type: 'channel.closed' }
  | LoginReport;

/** Emitted events of the authorization machine. */
export type AuthorizationEmitted =
  /** The person must open this URL. */
  {
    readonly type: 'authorization.asked';
    readonly url: string;
    readonly device: DevicePrompt | undefined;
  };

export interface LoginInput extends TokenDemand {
  /**
   * `no token`: any token obtained meanwhile is enough. `missing scope`: the new token must have
   * the scope.
   */
  readonly reason: 'no token' | 'missing scope';
  /** Whether the authorization server still recognizes our client. */
  readonly client: 'known' | 'unknown';
  /** Receiver of progress reports. */
  readonly authorization: Ref<LoginReport>;
}

/** Result of a login. */
export interface LoginOutcome {
  /** `login` for a new token, `store` if another connection logged in meanwhile. */
  readonly by: 'login' | 'store';
  /** Granted scopes, separated by spaces. */
  readonly scope: string | undefined;
}

/** Result of a refresh. */
export type RefreshOutcome =
  /** A newer token exists, from the authorization server or another process. */
  | { readonly kind: 'renewed' }
  /** The refresh token no longer works: the person must log in again. */
  | { readonly kind: 'spent'; readonly client: LoginInput['client'] };

/** Obtains and stores the tokens of one connection. */
export interface AuthorizationPort {
  /** Looks for a stored token. @throws the store cannot be read */
  read(): Promise<'found' | 'none'>;
  /**
   * Obtains a grant, and sends progress reports to `input.authorization`.
   *
   * @throws {RefusedAuthorization} no grant was obtained; carries the reason
   */
  logIn(input: LoginInput, signal: AbortSignal): Promise<LoginOutcome>;
  /** @throws {RefusedAuthorization} a server was unreachable or failed a security check */
  refresh(demand: TokenDemand, signal: AbortSignal): Promise<RefreshOutcome>;
}

export interface AuthorizationInput {
  readonly port: AuthorizationPort;
  /** Time limit for a person to log in, ms. */
  readonly visitTimeoutMs: number;
}

export interface AuthorizationContext extends AuthorizationInput {
  /**
   * Union of all scopes ever required. A new token requests all of them so that no scope is lost.
   */
  readonly demand: TokenDemand;
  readonly reason: LoginInput['reason'];
  readonly client: LoginInput['client'];
  /** Scopes that were requested and not granted. They are not requested again automatically. */
  readonly denied: string | undefined;
  /** Reason for having no token, or for missing the scopes requested last. */
  readonly refusal: Refusal | undefined;
}

const read = fromPromise<'found' | 'none', AuthorizationPort>(({ input }) => input.read());

const login = fromPromise<LoginOutcome, LoginInput & { readonly port: AuthorizationPort }>(
  ({ input: { port, ...input }, signal }) => port.logIn(input, signal),
);

const refresh = fromPromise<
  RefreshOutcome,
  { readonly demand: TokenDemand; readonly port: AuthorizationPort }
>(({ input: { demand, port }, signal }) => port.refresh(demand, signal));

type Demanding = Extract<AuthorizationEvent, { readonly demand: TokenDemand }>;

/** Union of scopes, in the order of first mention. */
export function scopeUnion(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(/\s+/).filter(Boolean) ?? []));
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** Scopes of `wanted` that `given` lacks. */
export function scopesMissing(
  wanted: string | undefined,
  given: string | undefined,
): string | undefined {
  const has = new Set(given?.split(/\s+/));
  const lacking = wanted?.split(/\s+/).filter((scope) => scope !== '' && !has.has(scope)) ?? [];
  return lacking.length === 0 ? undefined : lacking.join(' ');
}

/** The refusal of a failed port call; a bug in the port counts as an unreachable server. */
function refusalOf({ error }: { readonly error: unknown }): Refusal {
  if (error instanceof RefusedAuthorization) return error.refusal;
  return {
    kind: 'unreachable',
    error: error instanceof Error ? error : new Error('The login failed'),
  };
}

/** Thrown by a port that obtained no token. */
export class RefusedAuthorization extends Error {
  override readonly name = 'RefusedAuthorization';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.error.message, { cause: refusal.error });
    this.refusal = refusal;
  }
}

const demandOf = ({ event }: { readonly event: Demanding }) => event.demand;
const grantOf = ({ event }: { readonly event: DoneActorEvent<LoginOutcome> }) => event.output;
const outcomeOf = ({ event }: { readonly event: DoneActorEvent<RefreshOutcome> }) => event.output;
const foundBy = ({ event }: { readonly event: DoneActorEvent<'found' | 'none'> }) => event.output;
const failureOf = ({ event }: { readonly event: ErrorActorEvent }) => refusalOf(event);
const silenceOf = ({ context }: { readonly context: AuthorizationContext }): Refusal => ({
  kind: 'unanswered',
  error: new Error(`The person did not log in within ${context.visitTimeoutMs} ms`),
});

/** Authorization of a client at one resource. */
export const authorizationMachine = setup({
  types: {
    input: {} as AuthorizationInput,
    context: {} as AuthorizationContext,
    events: {} as AuthorizationEvent,
    emitted: {} as AuthorizationEmitted,
  },
  actors: { read, login, refresh },
  guards: {
    isFound: (_, found: 'found' | 'none') => found === 'found',
    isNew: (_, { by }: LoginOutcome) => by === 'login',
    isSpent: (_, { kind }: RefreshOutcome) => kind === 'spent',
    hasToken: ({ context }) => context.reason === 'missing scope',
    wasDenied: ({ context }, { scope }: TokenDemand) => !scopesMissing(scope, context.denied),
    mayPass: ({ context }) => context.refusal?.kind === 'unreachable',
  },
  delays: { visitTimeout: ({ context }) => context.visitTimeoutMs },
  actions: {
    rememberDemand: assign({
      demand: ({ context }, demand: TokenDemand): TokenDemand => ({
        scope: scopeUnion(context.demand.scope, demand.scope),
        resourceMetadataUrl: demand.resourceMetadataUrl ?? context.demand.resourceMetadataUrl,
      }),
    }),
    wantToken: assign({ reason: 'no token' }),
    wantScope: assign({ reason: 'missing scope', client: 'known' }),
    rememberClient: assign({
      client: (_, outcome: RefreshOutcome) => (outcome.kind === 'spent' ? outcome.client : 'known'),
    }),
    rememberGrant: assign(({ context }, { scope }: LoginOutcome) => ({
      refusal: undefined,
      client: 'known' as const,
      denied: scopesMissing(context.demand.scope, scope),
    })),
    rememberRefusal: assign({ refusal: (_, refusal: Refusal) => refusal }),
    rememberDenial: assign(({ context }, refusal: Refusal) => ({
      refusal,
      // An unreachable server has not denied any scopes.
      denied: refusal.kind === 'unreachable' ? context.denied : context.demand.scope,
    })),
    forgetFailure: assign({ refusal: undefined }),
    forgetRefusal: assign({ refusal: undefined, denied: undefined }),
    tellUrl: emit((_, { url, device }: Extract<LoginReport, { readonly type: 'login.asked' }>) => ({
      type: 'authorization.asked' as const,
      url,
      device,
    })),
  },
}).createMachine({
  id: 'authorization',
  context: ({ input }) => ({
    port: input.port,
    visitTimeoutMs: input.visitTimeoutMs,
    demand: {},
    reason: 'no token',
    client: 'known',
    denied: undefined,
    refusal: undefined,
  }),
  initial: 'resting',
  on: { 'channel.closed': '.resting' },
  states: {
    resting: {
      description: 'No channel is open.',
      on: { 'channel.opened': { target: 'unread', actions: 'forgetRefusal' } },
    },
    unread: {
      description: 'The store may hold a token from another connection or process.',
      on: { 'token.wanted': 'reading' },
    },
    reading: {
      description: 'Reading the stored token, once per channel.',
      invoke: {
        id: 'read',
        src: 'read',
        input: ({ context }) => context.port,
        onDone: [
          {
            guard: { type: 'isFound', params: foundBy },
            target: 'authorized',
            actions: 'forgetFailure',
          },
          { target: 'anonymous', actions: 'forgetFailure' },
        ],
        onError: {
          target: 'unread',
          actions: { type: 'rememberRefusal', params: failureOf },
        },
      },
    },
    anonymous: {
      description: 'No token, and no server has required one yet.',
      on: {
        'token.refused': {
          target: 'obtaining',
          actions: [{ type: 'rememberDemand', params: demandOf }, 'wantToken'],
        },
        'scope.missing': {
          target: 'obtaining',
          actions: [{ type: 'rememberDemand', params: demandOf }, 'wantToken'],
        },
      },
    },
    obtaining: {
      description: 'One login at a time, shared by all requests.',
      initial: 'waiting',
      invoke: {
        id: 'login',
        src: 'login',
        input: ({ context, self }) => ({
          ...context.demand,
          port: context.port,
          reason: context.reason,
          client: context.client,
          authorization: self,
        }),
        onDone: [
          {
            guard: { type: 'isNew', params: grantOf },
            target: 'authorized.obtained',
            actions: { type: 'rememberGrant', params: grantOf },
          },
          { target: 'authorized', actions: { type: 'rememberGrant', params: grantOf } },
        ],
        onError: [
          {
            guard: 'hasToken',
            target: 'authorized.before',
            actions: { type: 'rememberDenial', params: failureOf },
          },
          { target: 'refused', actions: { type: 'rememberRefusal', params: failureOf } },
        ],
      },
      on: {
        'scope.missing': { actions: { type: 'rememberDemand', params: demandOf } },
      },
      states: {
        waiting: {
          description:
            'Waiting for the login lock; logins of other connections and processes are shared.',
          on: { 'login.begun': 'asking' },
        },
        asking: {
          description: 'Discovering the authorization server and registering the client.',
          on: {
            'login.asked': {
              target: 'redirected',
              actions: { type: 'tellUrl', params: ({ event }) => event },
            },
          },
        },
        redirected: {
          description: 'The person is logging in, here or on another device.',
          on: { 'login.answered': 'exchanging' },
          after: {
            visitTimeout: [
              {
                guard: 'hasToken',
                target: '#authorization.authorized.before',
                actions: { type: 'rememberDenial', params: silenceOf },
              },
              {
                target: '#authorization.refused',
                actions: { type: 'rememberRefusal', params: silenceOf },
              },
            ],
          },
        },
        exchanging: { description: 'Exchanging the code for a token.' },
      },
    },
    authorized: {
      description: 'A token exists; the server may still reject it.',
      on: {
        'token.refused': {
          target: 'refreshing',
          actions: { type: 'rememberDemand', params: demandOf },
        },
        'scope.missing': [
          { guard: { type: 'wasDenied', params: demandOf } },
          {
            target: 'obtaining',
            actions: [{ type: 'rememberDemand', params: demandOf }, 'wantScope'],
          },
        ],
      },
      initial: 'known',
      states: {
        known: {
          description: 'A stored or refreshed token. If rejected at once, only a new login helps.',
          on: {
            'token.useless': {
              target: '#authorization.obtaining',
              actions: [{ type: 'rememberDemand', params: demandOf }, 'wantToken'],
            },
          },
        },
        obtained: {
          description: 'A token of a new login. If rejected, another login would not help.',
        },
        before: { type: 'history' },
      },
    },
    refreshing: {
      description: 'One refresh at a time, shared by all rejected requests.',
      invoke: {
        id: 'refresh',
        src: 'refresh',
        input: ({ context: { demand, port } }) => ({ demand, port }),
        onDone: [
          {
            guard: { type: 'isSpent', params: outcomeOf },
            target: 'obtaining',
            actions: ['wantToken', { type: 'rememberClient', params: outcomeOf }],
          },
          { target: 'authorized', actions: 'forgetFailure' },
        ],
        onError: {
          target: 'refused',
          actions: { type: 'rememberRefusal', params: failureOf },
        },
      },
      on: {
        'scope.missing': { actions: { type: 'rememberDemand', params: demandOf } },
      },
    },
    refused: {
      description: 'No token, with a reason. The person is not asked again automatically.',
      on: {
        'token.refused': {
          guard: 'mayPass',
          target: 'refreshing',
          actions: { type: 'rememberDemand', params: demandOf },
        },
        'token.useless': {
          guard: 'mayPass',
          target: 'obtaining',
          actions: [{ type: 'rememberDemand', params: demandOf }, 'wantToken'],
        },
        'scope.missing': {
          guard: 'mayPass',
          target: 'refreshing',
          actions: { type: 'rememberDemand', params: demandOf },
        },
      },
    },
  },
});
