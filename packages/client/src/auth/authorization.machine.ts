/**
 * When a host logs in at one resource, whom it asks, and how often.
 *
 * The machine sees neither a token nor a code. Its port reads, gets and keeps them: `logIn` asks
 * for a grant and reports its progress, `refresh` renews one. At most one of the two runs, however
 * many requests were refused: each refused request sends the same event, and waits until the state
 * is `authorized` or `refused`.
 *
 * @see MCP 2025-11-25, basic/authorization
 */
import type { DevicePrompt } from '../channel/connection-ports.ts';
import { assign, emit, fromPromise, setup } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent } from 'xstate';
import type { Ref } from '../../../../src/machines/port.ts';

/** Why there is no token. */
export type RefusalKind =
  /** The person has said no, or the authorization server has on their behalf. */
  | 'declined'
  /** The person has not answered in time. */
  | 'unanswered'
  /**
   * The server does not meet the specification's requirements for a server that a host may trust.
   */
  | 'unsafe'
  /** A server could not be reached, or has failed. It may work again a moment later. */
  | 'unreachable';

/** Why there is no token. The error contains no secret. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly error: Error;
}

/** What a server has said about the token that it wants. */
export interface TokenDemand {
  /** The scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** Where the metadata of the resource are (RFC 9728). */
  readonly resourceMetadataUrl?: string | undefined;
}

/** The progress of a login. */
export type LoginReport =
  /** No other connection or process is logging in there. */
  | { readonly type: 'login.begun' }
  /** The person has to visit this URL. */
  | {
      readonly type: 'login.asked';
      readonly url: string;
      /** The code to enter there, if they may be at another device. */
      readonly device?: DevicePrompt | undefined;
    }
  /** The person has visited it, and the answer is valid. */
  | { readonly type: 'login.answered' };

/** What the machine takes. */
export type AuthorizationEvent =
  /** A request is about to be sent. */
  | { readonly type: 'token.wanted' }
  /** The server wants a token, or no longer accepts this one. */
  | { readonly type: 'token.refused'; readonly demand: TokenDemand }
  /** The server has refused a newer token, too, right after the one before. */
  | { readonly type: 'token.useless'; readonly demand: TokenDemand }
  /** The token is valid, but its scopes are not enough. */
  | { readonly type: 'scope.missing'; readonly demand: TokenDemand }
  /** A host connects: an earlier refusal is not the last word. */
  | { readonly type: 'channel.opened' }
  /** The channel is closed. No one is asked for anything until the next one opens. */
  | { readonly type: 'channel.closed' }
  | LoginReport;

/** What the machine emits. */
export type AuthorizationEmitted =
  /** The person has to visit this URL. */
  {
    readonly type: 'authorization.asked';
    readonly url: string;
    readonly device: DevicePrompt | undefined;
  };

export interface LoginInput extends TokenDemand {
  /**
   * `no token`: any token that has come meanwhile will do. `missing scope`: the new token must have
   * it.
   */
  readonly reason: 'no token' | 'missing scope';
  /** Whether the authorization server still knows our client. */
  readonly client: 'known' | 'unknown';
  /** Receives the reports. */
  readonly authorization: Ref<LoginReport>;
}

/** The token that a login has brought. */
export interface LoginOutcome {
  /** Whether it is new, or another connection had logged in meanwhile. */
  readonly by: 'login' | 'store';
  /** Its scopes, separated by spaces. */
  readonly scope: string | undefined;
}

/** The outcome of an attempt to renew a grant. */
export type RefreshOutcome =
  /**
   * There is a newer token: from the authorization server, or from another process that renewed it.
   */
  | { readonly kind: 'renewed' }
  /** It cannot be renewed: the person has to be asked. */
  | { readonly kind: 'spent'; readonly client: LoginInput['client'] };

/** What gets and keeps the tokens of one connection. */
export interface AuthorizationPort {
  /** Looks for a token that is kept. @throws if the store cannot be read */
  read(): Promise<'found' | 'none'>;
  /**
   * Asks for a grant, and sends its reports to `input.authorization`.
   *
   * @throws {RefusedAuthorization} if there is no grant, with the reason
   */
  logIn(input: LoginInput, signal: AbortSignal): Promise<LoginOutcome>;
  /** @throws {RefusedAuthorization} a server could not be reached, or must not be trusted */
  refresh(demand: TokenDemand, signal: AbortSignal): Promise<RefreshOutcome>;
}

export interface AuthorizationInput {
  readonly port: AuthorizationPort;
  /** How long a person may take, milliseconds. */
  readonly visitTimeoutMs: number;
}

export interface AuthorizationContext extends AuthorizationInput {
  /**
   * All scopes that were ever wanted. A new token is requested with all of them, so that no scope
   * is lost.
   */
  readonly demand: TokenDemand;
  readonly reason: LoginInput['reason'];
  readonly client: LoginInput['client'];
  /**
   * Scopes that were requested and not granted. The person is not asked for them again
   * automatically.
   */
  readonly denied: string | undefined;
  /** Why there is no token, or why it lacks the scopes that were requested last. */
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

/** Every scope once, in the order in which they were first named. */
export function scopeUnion(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(/\s+/).filter(Boolean) ?? []));
  return all.size === 0 ? undefined : [...all].join(' ');
}

/** The scopes of `wanted` that `given` lacks. */
export function scopesMissing(
  wanted: string | undefined,
  given: string | undefined,
): string | undefined {
  const has = new Set(given?.split(/\s+/));
  const lacking = wanted?.split(/\s+/).filter((scope) => scope !== '' && !has.has(scope)) ?? [];
  return lacking.length === 0 ? undefined : lacking.join(' ');
}

/** The error of a port; a bug in it counts as a server that has failed. */
function refusalOf({ error }: { readonly error: unknown }): Refusal {
  if (error instanceof RefusedAuthorization) return error.refusal;
  return {
    kind: 'unreachable',
    error: error instanceof Error ? error : new Error('The login has failed'),
  };
}

/** Thrown by a port, to say why there is no token. */
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
  error: new Error(`Nobody has logged in within ${context.visitTimeoutMs} ms`),
});

/** The authorization of a host at one resource. */
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
      // If the server was unreachable, the scopes were not denied.
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
      description: 'There is no channel that a token would be for.',
      on: { 'channel.opened': { target: 'unread', actions: 'forgetRefusal' } },
    },
    unread: {
      description: 'Another connection, or another process, may have logged in since.',
      on: { 'token.wanted': 'reading' },
    },
    reading: {
      description: 'What is kept is read once for each channel.',
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
      description: 'There is no token. Nobody has wanted one yet.',
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
      description: 'One login, whoever wants a token meanwhile.',
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
          description: 'Another connection or process may be logging in there. Its login is ours.',
          on: { 'login.begun': 'asking' },
        },
        asking: {
          description: 'The servers are asked where, and who we are to them.',
          on: {
            'login.asked': {
              target: 'redirected',
              actions: { type: 'tellUrl', params: ({ event }) => event },
            },
          },
        },
        redirected: {
          description: 'A person is at the authorization server, here or on another device.',
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
        exchanging: { description: 'What they bring is exchanged for a token.' },
      },
    },
    authorized: {
      description: 'There is a token. Whether the server takes it is seen when it is used.',
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
          description: 'It was kept, or renewed. If it is refused at once, a renewal is no help.',
          on: {
            'token.useless': {
              target: '#authorization.obtaining',
              actions: [{ type: 'rememberDemand', params: demandOf }, 'wantToken'],
            },
          },
        },
        obtained: {
          description: 'It is of a login just now. If it is refused, another login is no help.',
        },
        before: { type: 'history' },
      },
    },
    refreshing: {
      description: 'One refresh, whoever was refused with the old token.',
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
      description: 'There is no token, for a reason. A person is not asked again by itself.',
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
