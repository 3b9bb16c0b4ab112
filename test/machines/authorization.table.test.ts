/** Every event in every state of an authorization: where it leads, and what is asked for. */
import { SimulatedClock, createActor, initialTransition, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  RefusedAuthorization,
  authorizationMachine,
  scopeUnion,
  scopesMissing,
} from '../../src/machines/authorization.machine.ts';
import type {
  AuthorizationPort,
  AuthorizationEvent,
  LoginInput,
  LoginOutcome,
  RefreshOutcome,
} from '../../src/machines/authorization.machine.ts';

const found: AuthorizationEvent = { type: 'token.found' };
const refused = (scope?: string): AuthorizationEvent => ({
  type: 'token.refused',
  demand: { scope },
});
const missing = (scope: string): AuthorizationEvent => ({
  type: 'scope.missing',
  demand: { scope },
});
const opened: AuthorizationEvent = { type: 'channel.opened' };
const closed: AuthorizationEvent = { type: 'channel.closed' };
const asked: AuthorizationEvent = { type: 'login.asked', url: 'https://as.example.com/authorize' };
const answered: AuthorizationEvent = { type: 'login.answered' };

/** Nothing comes of what it is asked for. */
const port: AuthorizationPort = {
  logIn: () => new Promise(() => {}),
  refresh: () => new Promise(() => {}),
};

const done = (actor: string, output: unknown) =>
  ({ type: `xstate.done.actor.${actor}`, output, actorId: actor }) as never;
const failed = (actor: string, error: unknown) =>
  ({ type: `xstate.error.actor.${actor}`, error, actorId: actor }) as never;
const loggedIn = (scope?: string) => done('login', { scope } satisfies LoginOutcome);
const renewed = done('refresh', { kind: 'renewed' } satisfies RefreshOutcome);
const spent = done('refresh', { kind: 'spent', client: 'unknown' } satisfies RefreshOutcome);
const no = (kind: 'declined' | 'unreachable') =>
  new RefusedAuthorization({ kind, error: new Error(kind) });

function after(...events: readonly AuthorizationEvent[]) {
  let [snapshot] = initialTransition(authorizationMachine, { port, visitTimeoutMs: 300_000 });
  for (const event of [opened, ...events])
    [snapshot] = transition(authorizationMachine, snapshot, event);
  const { demand, reason, client, denied, refusal } = snapshot.context;
  return {
    state: snapshot.value,
    scope: demand.scope,
    reason,
    client,
    denied,
    refusal: refusal?.kind,
  };
}

describe('an authorization', () => {
  test.each<[string, AuthorizationEvent[], unknown]>([
    ['begins without a token', [], 'anonymous'],
    ['knows a token that was kept', [found], 'authorized'],
    ['asks when a token is wanted first', [refused()], { obtaining: 'asking' }],
    ['asks once, whoever wants one too', [refused(), refused()], { obtaining: 'asking' }],
    ['waits for the person', [refused(), asked], { obtaining: 'redirected' }],
    ['exchanges what they bring', [refused(), asked, answered], { obtaining: 'exchanging' }],
    ['has a token then', [refused(), asked, answered, loggedIn()], 'authorized'],
    ['may get one without a person', [refused(), loggedIn()], 'authorized'],
    ['renews a token that is refused', [found, refused()], 'refreshing'],
    ['renews it once, whoever was refused', [found, refused(), refused()], 'refreshing'],
    ['goes on with the new one', [found, refused(), renewed], 'authorized'],
    ['asks if it cannot be renewed', [found, refused(), spent], { obtaining: 'asking' }],
    ['is refused by a person', [refused(), asked, failed('login', no('declined'))], 'refused'],
    [
      'does not ask a person again by itself',
      [refused(), failed('login', no('declined')), refused(), missing('b')],
      'refused',
    ],
    [
      'tries again where only a server was away',
      [refused(), failed('login', no('unreachable')), refused()],
      'refreshing',
    ],
    [
      'tries again for a scope, too, where only a server was away',
      [found, refused(), failed('refresh', no('unreachable')), missing('b')],
      'refreshing',
    ],
    [
      'asks again when a host wants it to',
      [refused(), failed('login', no('declined')), closed, opened, refused()],
      { obtaining: 'asking' },
    ],
    ['ends a login with its channel', [refused(), asked, closed], 'resting'],
    ['asks nobody without a channel', [found, closed, refused(), missing('b'), found], 'resting'],
    ['asks for more scopes', [found, missing('b')], { obtaining: 'asking' }],
    [
      'keeps the token that it has if more is declined',
      [found, missing('b'), failed('login', no('declined'))],
      'authorized',
    ],
    [
      'does not ask again for a scope that was declined',
      [found, missing('b'), failed('login', no('declined')), missing('b')],
      'authorized',
    ],
    [
      'does not ask again for a scope that was left out of the token',
      [found, missing('b c'), loggedIn('b'), missing('c')],
      'authorized',
    ],
    [
      'asks again for it when a host wants it to',
      [found, missing('b'), failed('login', no('declined')), closed, opened, found, missing('b')],
      { obtaining: 'asking' },
    ],
    [
      'asks again for a scope that could not be asked for',
      [found, missing('b'), failed('login', no('unreachable')), missing('b')],
      { obtaining: 'asking' },
    ],
    ['asks for a token where only a scope was named', [missing('b')], { obtaining: 'asking' }],
  ])('%s', (_, events, state) => {
    expect(after(...events).state).toEqual(state);
  });

  test('asks for every scope that was ever wanted, so that none is lost', () => {
    const events = [refused('a'), missing('b a'), asked, answered, loggedIn('a b'), missing('c')];
    expect(after(...events)).toMatchObject({ scope: 'a b c', reason: 'missing scope' });
  });

  test('remembers that the authorization server does not know our client until there is a token', () => {
    expect(after(found, refused(), spent).client).toBe('unknown');
    expect(after(found, refused(), spent, loggedIn()).client).toBe('known');
  });

  test('says why there is no token, until there is one', () => {
    const declined = [refused(), failed('login', no('declined'))];
    expect(after(...declined).refusal).toBe('declined');
    expect(after(...declined, closed, opened).refusal).toBeUndefined();
  });

  test('takes an error of another kind for a server that has failed', () => {
    expect(after(refused(), failed('login', 'text'))).toMatchObject({
      state: 'refused',
      refusal: 'unreachable',
    });
  });
});

/** An authorization whose logins wait, and the inputs they were given. */
function start() {
  const logins: LoginInput[] = [];
  const ended: string[] = [];
  const clock = new SimulatedClock();
  const waiting: AuthorizationPort = {
    ...port,
    logIn: (input, signal) => {
      logins.push(input);
      signal.addEventListener('abort', () => ended.push('login'));
      return new Promise(() => {});
    },
  };
  const input = { port: waiting, visitTimeoutMs: 300_000 };
  const actor = createActor(authorizationMachine, { clock, input }).start();
  actor.send(opened);
  return { actor, clock, logins, ended };
}

describe('a person who does not answer', () => {
  test('is waited for so long, then the login is ended', () => {
    const { actor, clock, ended } = start();
    actor.send(refused());
    actor.send(asked);
    clock.increment(299_999);
    expect(actor.getSnapshot().value).toEqual({ obtaining: 'redirected' });
    clock.increment(1);
    expect(actor.getSnapshot().value).toBe('refused');
    expect(actor.getSnapshot().context.refusal).toMatchObject({
      kind: 'unanswered',
      error: { message: 'Nobody has logged in within 300000 ms' },
    });
    expect(ended).toEqual(['login']);
  });

  test('leaves the token that there is', () => {
    const { actor, clock } = start();
    actor.send(found);
    actor.send(missing('b'));
    actor.send(asked);
    clock.increment(300_000);
    expect(actor.getSnapshot().value).toBe('authorized');
    expect(actor.getSnapshot().context).toMatchObject({
      denied: 'b',
      refusal: { kind: 'unanswered' },
    });
  });
});

test('the URL to visit is told, and what is wanted goes into the login', () => {
  const { actor, logins } = start();
  const urls: string[] = [];
  actor.on('authorization.asked', ({ url }) => urls.push(url));
  actor.send({
    type: 'token.refused',
    demand: { scope: 'a', resourceMetadataUrl: 'https://mcp.example.com/metadata' },
  });
  actor.send(asked);
  expect(urls).toEqual(['https://as.example.com/authorize']);
  expect(logins).toMatchObject([
    {
      scope: 'a',
      resourceMetadataUrl: 'https://mcp.example.com/metadata',
      reason: 'no token',
      client: 'known',
    },
  ]);
});

describe('scopes', () => {
  test.each<[(string | undefined)[], string | undefined]>([
    [[undefined, ''], undefined],
    [['a b', 'b  c'], 'a b c'],
    [['b', 'a'], 'b a'],
  ])('the union of %j is %j', (scopes, union) => {
    expect(scopeUnion(...scopes)).toBe(union);
  });

  test.each<[string | undefined, string | undefined, string | undefined]>([
    [undefined, 'a', undefined],
    ['a b', 'b', 'a'],
    ['a', 'b a', undefined],
    ['a', undefined, 'a'],
    ['a', '', 'a'],
  ])('of %j, %j lacks %j', (wanted, given, lacking) => {
    expect(scopesMissing(wanted, given)).toBe(lacking);
  });
});
