/** Every event in every state of the authorization machine: target and invoked actors. */
import { SimulatedClock, createActor, initialTransition, transition, waitFor } from 'xstate';
import { describe, expect, test } from 'vitest';
import {
  RefusedAuthorization,
  authorizationMachine,
  scopeUnion,
  scopesMissing,
} from '../../packages/client/src/auth/authorization.machine.ts';
import type {
  AuthorizationPort,
  AuthorizationEvent,
  LoginInput,
  LoginOutcome,
  RefreshOutcome,
} from '../../packages/client/src/auth/authorization.machine.ts';
import { stateName } from '../../src/machines/names.ts';

const wanted: AuthorizationEvent = { type: 'token.wanted' };
const refused = (scope?: string): AuthorizationEvent => ({
  type: 'token.refused',
  demand: { scope },
});
const useless: AuthorizationEvent = { type: 'token.useless', demand: {} };
const missing = (scope: string): AuthorizationEvent => ({
  type: 'scope.missing',
  demand: { scope },
});
const opened: AuthorizationEvent = { type: 'channel.opened' };
const closed: AuthorizationEvent = { type: 'channel.closed' };
const asked: AuthorizationEvent = { type: 'login.asked', url: 'https://as.example.com/authorize' };
const begun: AuthorizationEvent = { type: 'login.begun' };
const answered: AuthorizationEvent = { type: 'login.answered' };

/** An actor without effect. */
const port: AuthorizationPort = {
  read: () => new Promise(() => {}),
  logIn: () => new Promise(() => {}),
  refresh: () => new Promise(() => {}),
};

const done = (actor: string, output: unknown) =>
  ({ type: `xstate.done.actor.${actor}`, output, actorId: actor }) as never;
const failed = (actor: string, error: unknown) =>
  ({ type: `xstate.error.actor.${actor}`, error, actorId: actor }) as never;
const found = done('read', 'found');
const none = done('read', 'none');
const loggedIn = (scope?: string, by: LoginOutcome['by'] = 'login') =>
  done('login', { by, scope } satisfies LoginOutcome);
const renewed = done('refresh', { kind: 'renewed' } satisfies RefreshOutcome);
const spent = done('refresh', { kind: 'spent', client: 'unknown' } satisfies RefreshOutcome);
const no = (kind: 'declined' | 'unreachable') =>
  new RefusedAuthorization({ kind, error: new Error(kind) });

/** A channel is open and a request needs a token, which the store does not have. */
function after(...events: readonly AuthorizationEvent[]) {
  return afterAll(opened, wanted, ...(events[0] === found ? [] : [none]), ...events);
}

function afterAll(...events: readonly AuthorizationEvent[]) {
  let [snapshot] = initialTransition(authorizationMachine, { port, visitTimeoutMs: 300_000 });
  for (const event of events) [snapshot] = transition(authorizationMachine, snapshot, event);
  const { demand, reason, client, denied, refusal } = snapshot.context;
  return {
    state: stateName(snapshot),
    scope: demand.scope,
    reason,
    client,
    denied,
    refusal: refusal?.kind,
  };
}

describe('the authorization machine', () => {
  test.each<[string, AuthorizationEvent[], unknown]>([
    ['begins without a token', [], 'anonymous'],
    ['knows a token that was kept', [found], 'authorized.known'],
    ['asks when a token is wanted first', [refused()], 'obtaining.waiting'],
    ['asks once, whoever wants one too', [refused(), refused()], 'obtaining.waiting'],
    ['asks the servers once its turn has come', [refused(), begun], 'obtaining.asking'],
    ['waits for the person', [refused(), begun, asked], 'obtaining.redirected'],
    ['exchanges what they bring', [refused(), begun, asked, answered], 'obtaining.exchanging'],
    ['has a token then', [refused(), begun, asked, answered, loggedIn()], 'authorized.obtained'],
    ['may get one without a person', [refused(), loggedIn()], 'authorized.obtained'],
    ['renews a token that is refused', [found, refused()], 'refreshing'],
    ['renews it once, whoever was refused', [found, refused(), refused()], 'refreshing'],
    ['goes on with the new one', [found, refused(), renewed], 'authorized.known'],
    ['asks if it cannot be renewed', [found, refused(), spent], 'obtaining.waiting'],
    [
      'is refused by a person',
      [refused(), begun, asked, failed('login', no('declined'))],
      'refused',
    ],
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
      [refused(), failed('login', no('declined')), closed, opened, wanted, none, refused()],
      'obtaining.waiting',
    ],
    ['ends a login with its channel', [refused(), begun, asked, closed], 'resting'],
    [
      'asks nobody without a channel',
      [found, closed, refused(), missing('b'), wanted, found],
      'resting',
    ],
    ['asks for more scopes', [found, missing('b')], 'obtaining.waiting'],
    [
      'keeps the token that it has if more is declined',
      [found, missing('b'), failed('login', no('declined'))],
      'authorized.known',
    ],
    [
      'does not ask again for a scope that was declined',
      [found, missing('b'), failed('login', no('declined')), missing('b')],
      'authorized.known',
    ],
    [
      'does not ask again for a scope that was left out of the token',
      [found, missing('b c'), loggedIn('b'), missing('c')],
      'authorized.obtained',
    ],
    [
      'asks again for it when a host wants it to',
      [
        found,
        missing('b'),
        failed('login', no('declined')),
        closed,
        opened,
        wanted,
        found,
        missing('b'),
      ],
      'obtaining.waiting',
    ],
    [
      'asks again for a scope that could not be asked for',
      [found, missing('b'), failed('login', no('unreachable')), missing('b')],
      'obtaining.waiting',
    ],
    ['asks at once if a renewed token is refused, too', [found, useless], 'obtaining.waiting'],
    [
      'asks at once if the token of another login is refused, too',
      [refused(), loggedIn(undefined, 'store'), useless],
      'obtaining.waiting',
    ],
    ['asks nobody who has just logged in', [refused(), loggedIn(), useless], 'authorized.obtained'],
    [
      'remembers so if more scopes are declined',
      [refused(), loggedIn(), missing('b'), failed('login', no('declined')), useless],
      'authorized.obtained',
    ],
    [
      'may ask again once the token of a login was renewed',
      [refused(), loggedIn(), refused(), renewed, useless],
      'obtaining.waiting',
    ],
    [
      'does not ask a person again because a newer token is refused, too',
      [refused(), failed('login', no('declined')), useless],
      'refused',
    ],
    [
      'asks again for a useless token if only a server was away',
      [refused(), failed('login', no('unreachable')), useless],
      'obtaining.waiting',
    ],
    ['asks for a token where only a scope was named', [missing('b')], 'obtaining.waiting'],
  ])('%s', (_, events, state) => {
    expect(after(...events).state).toEqual(state);
  });

  test.each<[string, AuthorizationEvent[], string]>([
    ['is read when it is first wanted', [], 'unread'],
    ['is read once', [wanted, wanted], 'reading'],
    ['is read again if that has failed', [wanted, failed('read', new Error('locked'))], 'unread'],
    ['is read on each channel', [wanted, found, closed, opened], 'unread'],
    ['is not read without one', [closed, wanted], 'resting'],
  ])('the stored grant %s', (_, events, state) => {
    expect(afterAll(opened, ...events).state).toBe(state);
  });

  test('requests every scope ever wanted, so none is lost', () => {
    const events = [
      refused('a'),
      missing('b a'),
      begun,
      asked,
      answered,
      loggedIn('a b'),
      missing('c'),
    ];
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

  test('treats an unknown error as a failed server', () => {
    expect(after(refused(), failed('login', 'text'))).toMatchObject({
      state: 'refused',
      refusal: 'unreachable',
    });
  });
});

/** An authorization with pending logins, and their inputs. */
async function start(kept: 'found' | 'none' = 'none') {
  const logins: LoginInput[] = [];
  const ended: string[] = [];
  const clock = new SimulatedClock();
  const waiting: AuthorizationPort = {
    ...port,
    read: () => Promise.resolve(kept),
    logIn: (input, signal) => {
      logins.push(input);
      signal.addEventListener('abort', () => ended.push('login'));
      return new Promise(() => {});
    },
  };
  const input = { port: waiting, visitTimeoutMs: 300_000 };
  const actor = createActor(authorizationMachine, { clock, input }).start();
  actor.send(opened);
  actor.send(wanted);
  await waitFor(actor, (snapshot) => !snapshot.matches('reading'));
  return { actor, clock, logins, ended };
}

describe('a person who does not answer', () => {
  test('is waited for up to the time limit, then the login ends', async () => {
    const { actor, clock, ended } = await start();
    actor.send(refused());
    actor.send(begun);
    actor.send(asked);
    clock.increment(299_999);
    expect(actor.getSnapshot().value).toEqual({ obtaining: 'redirected' });
    clock.increment(1);
    expect(actor.getSnapshot().value).toBe('refused');
    expect(actor.getSnapshot().context.refusal).toMatchObject({
      kind: 'unanswered',
      error: { message: 'The person did not log in within 300000 ms' },
    });
    expect(ended).toEqual(['login']);
  });

  test('keeps the existing token', async () => {
    const { actor, clock } = await start('found');
    actor.send(missing('b'));
    actor.send(begun);
    actor.send(asked);
    clock.increment(300_000);
    expect(actor.getSnapshot().matches('authorized')).toBe(true);
    expect(actor.getSnapshot().context).toMatchObject({
      denied: 'b',
      refusal: { kind: 'unanswered' },
    });
  });
});

test('is given the URL, and later scopes are added to the login', async () => {
  const { actor, logins } = await start();
  const urls: string[] = [];
  actor.on('authorization.asked', ({ url }) => urls.push(url));
  actor.send({
    type: 'token.refused',
    demand: { scope: 'a', resourceMetadataUrl: 'https://mcp.example.com/metadata' },
  });
  actor.send(begun);
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
