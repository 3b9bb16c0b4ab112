/**
 * When a host logs in at one resource: whom it asks, and how often.
 *
 * The machine sees neither a token nor a code. What reads, gets and keeps them stands at two ports:
 * `login` asks for a grant that there is not yet, and tells how far it is; `refresh` renews one. At
 * most one of them runs, however many requests were refused: each of them sends the same event, and
 * waits until the state is `authorized` or `refused`.
 *
 * @see MCP 2025-11-25, basic/authorization
 */
import { assign, emit, fromPromise, setup } from 'xstate';
import type { DoneActorEvent, ErrorActorEvent, PromiseActorLogic } from 'xstate';
import type { Ref } from './port.ts';

/** Why there is no token. */
export type RefusalKind =
  /** The person, or the authorization server for them, has said no. */
  | 'declined'
  /** Nobody has answered in time. */
  | 'unanswered'
  /** What was found is not what the specification demands of a server that a host may trust. */
  | 'unsafe'
  /** A server could not be reached, or has failed. It may be there a moment later. */
  | 'unreachable';

/** There is no token, and why. The error holds no secret. */
export interface Refusal {
  readonly kind: RefusalKind;
  readonly error: Error;
}

/** What a server has said of the token that it wants. */
export interface Demand {
  /** The scopes, separated by spaces. */
  readonly scope?: string | undefined;
  /** Where the metadata of the resource are (RFC 9728). */
  readonly resourceMetadataUrl?: string | undefined;
}

/** How far a login is. */
export type LoginReport =
  /** The person has to visit this URL. */
  | { readonly type: 'login.asked'; readonly url: string }
  /** The person has been there, and the answer is in order. */
  | { readonly type: 'login.answered' };

/** What the machine takes. */
export type AuthorizationEvent =
  /** A token has been kept from before. */
  | { readonly type: 'token.found' }
  /** The server wants a token, or takes this one no longer. */
  | { readonly type: 'token.refused'; readonly demand: Demand }
  /** The token is good, and does not allow enough. */
  | { readonly type: 'scope.missing'; readonly demand: Demand }
  /** A host connects: an earlier refusal is not the last word. */
  | { readonly type: 'channel.opened' }
  /** It is over. Nobody is asked for anything until the next one. */
  | { readonly type: 'channel.closed' }
  | LoginReport;

/** What the machine emits. */
export type AuthorizationEmitted =
  /** The person has to visit this URL. */
  { readonly type: 'authorization.asked'; readonly url: string };

export interface LoginInput extends Demand {
  /** Without a token any that has come meanwhile will do; a missing scope it has to have. */
  readonly reason: 'no token' | 'missing scope';
  /** Whether the authorization server still knows our client. */
  readonly client: 'known' | 'unknown';
  /** Gets the reports. */
  readonly authorization: Ref<LoginReport>;
}

/** A token has come. */
export interface LoginOutcome {
  /** Its scopes, separated by spaces. */
  readonly scope: string | undefined;
}

export type RefreshInput = Demand;

/** What came of an attempt to renew a grant. */
export type RefreshOutcome =
  /** There is a newer token: from the authorization server, or because another has renewed it. */
  | { readonly kind: 'renewed' }
  /** It cannot be renewed: the person has to be asked. */
  | { readonly kind: 'spent'; readonly client: LoginInput['client'] };

export interface AuthorizationInput {
  /** How long a person may take, milliseconds. */
  readonly visitTimeoutMs: number;
}

export interface AuthorizationContext extends AuthorizationInput {
  /** All that was ever wanted. Whoever asks for a new token asks for all of it, so that none is lost. */
  readonly demand: Demand;
  readonly reason: LoginInput['reason'];
  readonly client: LoginInput['client'];
  /** Scopes that were asked for and not given. A person is not asked for them again by itself. */
  readonly denied: string | undefined;
  /** Why there is no token, or none with the scopes that were asked for last. */
  readonly refusal: Refusal | undefined;
}

const missing = <TOutput, TInput>(name: string): PromiseActorLogic<TOutput, TInput> =>
  fromPromise(() =>
    Promise.reject(
      new Error(
        `authorizationMachine needs a "${name}" actor: authorizationMachine.provide({ actors: { ${name} } })`,
      ),
    ),
  );

type Demanding = Extract<AuthorizationEvent, { readonly demand: Demand }>;

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

/** The error that a port ended with; a bug of it counts as a server that has failed. */
function refusalOf({ error }: { readonly error: unknown }): Refusal {
  if (error instanceof RefusedAuthorization) return error.refusal;
  return {
    kind: 'unreachable',
    error: error instanceof Error ? error : new Error('The login has failed'),
  };
}

/** Thrown by what stands at a port, to say why there is no token. */
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
  actors: {
    login: missing<LoginOutcome, LoginInput>('login'),
    refresh: missing<RefreshOutcome, RefreshInput>('refresh'),
  },
  guards: {
    isSpent: (_, { kind }: RefreshOutcome) => kind === 'spent',
    hasToken: ({ context }) => context.reason === 'missing scope',
    wasDenied: ({ context }, { scope }: Demand) => !scopesMissing(scope, context.denied),
    mayPass: ({ context }) => context.refusal?.kind === 'unreachable',
  },
  delays: { visitTimeout: ({ context }) => context.visitTimeoutMs },
  actions: {
    rememberDemand: assign({
      demand: ({ context }, demand: Demand): Demand => ({
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
      // What could not be asked for is not denied.
      denied: refusal.kind === 'unreachable' ? context.denied : context.demand.scope,
    })),
    forgetFailure: assign({ refusal: undefined }),
    forgetRefusal: assign({ refusal: undefined, denied: undefined }),
    tellUrl: emit((_, { url }: { readonly url: string }) => ({
      type: 'authorization.asked' as const,
      url,
    })),
  },
}).createMachine({
  id: 'authorization',
  context: ({ input }) => ({
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
      on: { 'channel.opened': { target: 'anonymous', actions: 'forgetRefusal' } },
    },
    anonymous: {
      description: 'There is no token. Nobody has wanted one yet.',
      on: {
        'token.found': 'authorized',
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
      initial: 'asking',
      invoke: {
        id: 'login',
        src: 'login',
        input: ({ context, self }) => ({
          ...context.demand,
          reason: context.reason,
          client: context.client,
          authorization: self,
        }),
        onDone: {
          target: 'authorized',
          actions: { type: 'rememberGrant', params: grantOf },
        },
        onError: [
          {
            guard: 'hasToken',
            target: 'authorized',
            actions: { type: 'rememberDenial', params: failureOf },
          },
          { target: 'refused', actions: { type: 'rememberRefusal', params: failureOf } },
        ],
      },
      on: {
        'scope.missing': { actions: { type: 'rememberDemand', params: demandOf } },
      },
      states: {
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
          description: 'A person is at the authorization server.',
          on: { 'login.answered': 'exchanging' },
          after: {
            visitTimeout: [
              {
                guard: 'hasToken',
                target: '#authorization.authorized',
                actions: { type: 'rememberDenial', params: silenceOf },
              },
              {
                target: '#authorization.refused',
                actions: { type: 'rememberRefusal', params: silenceOf },
              },
            ],
          },
        },
        exchanging: { description: 'The code is exchanged for a token.' },
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
    },
    refreshing: {
      description: 'One refresh, whoever was refused with the old token.',
      invoke: {
        id: 'refresh',
        src: 'refresh',
        input: ({ context }) => context.demand,
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
        'scope.missing': {
          guard: 'mayPass',
          target: 'refreshing',
          actions: { type: 'rememberDemand', params: demandOf },
        },
      },
    },
  },
});
