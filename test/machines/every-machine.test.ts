import { initialTransition, setup } from 'xstate';
import type { AnyStateMachine } from 'xstate';
import { describe, expect, test } from 'vitest';
import { streamResumption } from '../../packages/client/src/http/http-stream.machine.ts';
import type { RootsUpdated } from '../../src/machines/roots.machine.ts';
import type { CorrelationEvent } from '../../src/machines/peer-ports.ts';
import type { ClientUnresponsive } from '../../src/machines/session-ports.ts';
import { processRestart } from '../../packages/client/src/channel/restart-option.ts';
import { supervisorRestart } from '../../packages/serve/src/supervisor/supervisor.machine.ts';
import { delaysOf, everyMachine, nodesOf, reachableNodes, usedNames } from './every-machine.ts';
import { listener, noKeepalive } from './stand-ins.ts';

const machines = await everyMachine();

const connectionTimes = { connectTimeoutMs: 30_000, probeMs: 500, loginTimeoutMs: 300_000 };

/** Contexts for computing a machine's delays, including extreme ones. */
const contexts: { readonly [machine: string]: readonly object[] } = {
  sessionMachine: [
    { drainTimeoutMs: 2000, limits: { stallTimeoutMs: 300 } },
    { drainTimeoutMs: 0, limits: { stallTimeoutMs: 1 } },
  ],
  taskMachine: [{ ttlMs: 1 }, { ttlMs: 2 ** 31 - 1 }],
  taskWorkMachine: [{}],
  rootsMachine: [0, 1, 2, 5, 1024, 1_000_000].map((failures) => ({ retryMs: 30_000, failures })),
  listeningMachine: [1, 2, 31, 1_000_000].map((cuts) => ({ retryMs: 1, maxRetryMs: 1e5, cuts })),
  catalogMachine: [0, 1, 5, 1_000_000].flatMap((count) =>
    [0, 1000].map((spacingMs) => ({
      ...{ retryMs: 30_000, failures: count, crowd: count },
      ...{ spacingMs, maxSpacingMs: 2 ** 31 - 1 },
    })),
  ),
  keepaliveMachine: [{ waitMs: 0 }, { waitMs: 2 ** 31 - 1 }],
  subscriptionMachine: [{}],
  processMachine: [0, 2 ** 31 - 1].map((ms) => ({
    times: { inputMs: ms, terminateMs: ms, killMs: ms, drainMs: ms },
  })),
  httpSessionMachine: [{}],
  httpChannelMachine: [{}],
  stdioChannelMachine: [{}],
  sdkTransportMachine: [{}],
  childMachine: [{}],
  supervisorMachine: [0, 1, 2, 8, 9, 1_000_000].map((losses) => ({
    ...{ losses, random: () => 0.5 },
    restart: supervisorRestart,
  })),
  closingMachine: [{}],
  upstreamMachine: [{}],
  serverPushMachine: [{}],
  updatesMachine: [{}],
  suspendableCallMachine: [{}],
  postAnswerMachine: [{}],
  postMachine: [{}],
  sessionStreamMachine: [{}],
  sinkMachine: [{}],
  tokenValidityMachine: [{}],
  ownershipMachine: [{}],
  forwardMachine: [{}],
  redisLinkMachine: [{}],
  connectionMachine: [
    { times: connectionTimes, restart: 'none', delayMs: 0 },
    { times: connectionTimes, restart: processRestart, delayMs: 30_000 },
  ],
  deviceLoginMachine: [
    { intervalMs: 1000, expiresInMs: 1000 },
    { intervalMs: 2 ** 31 - 1, expiresInMs: 3_600_000 },
  ],
  authorizationMachine: [{ visitTimeoutMs: 1 }, { visitTimeoutMs: 300_000 }],
  httpStreamMachine: [0, 1, 5, 1_000_000].flatMap((attempts) =>
    [undefined, 0, 500, 2 ** 53].map((retryMs) => ({
      ...{ attempts, retryMs, times: streamResumption },
      port: { scatterMs: () => 1000 },
    })),
  ),
  serverSlotMachine: [{ begins: 'idle', error: undefined }],
  managedServerMachine: [0, 1, 5, 1_000_000].map((failures) => ({
    ...{ failures, error: undefined },
    times: { retryMs: 1000, maxRetryMs: 300_000 },
  })),
  followedTaskMachine: [0, 10, 1_000_000].flatMap((failures) => [
    { task: {}, failures },
    { task: { pollIntervalMs: 0 }, failures },
    { task: { pollIntervalMs: Number.MAX_VALUE }, failures },
  ]),
};

const connectionInput = {
  times: connectionTimes,
  restart: 'none',
  random: () => 0,
  era: { kind: 'unknown' },
  shows: 'pipe',
  opens: 'once',
};

const inputs: { readonly [machine: string]: object } = {
  sessionMachine: {
    server: { serverInfo: { name: 's', version: '1' }, capabilities: {} },
    limits: {
      drainTimeoutMs: 1,
      stallTimeoutMs: 1,
      rootsTimeoutMs: 1,
      rootsRetryMs: 1,
      maxOvertakenRoots: 1,
      ...noKeepalive,
    },
  },
  keepaliveMachine: {
    session: listener<ClientUnresponsive>().ref,
    correlation: listener<CorrelationEvent>().ref,
    ...noKeepalive,
  },
  rootsMachine: {
    session: listener<RootsUpdated>().ref,
    correlation: listener<CorrelationEvent>().ref,
    timeoutMs: 1,
    retryMs: 1,
    maxOvertaken: 1,
  },
  supervisorMachine: { restart: supervisorRestart, random: () => 0 },
  processMachine: { times: { inputMs: 1, terminateMs: 1, killMs: 1, drainMs: 1 } },
  listeningMachine: { filter: {}, retryMs: 1, maxRetryMs: 1 },
  connectionMachine: connectionInput,
  catalogMachine: { name: 'tools', retryMs: 1, maxOvertaken: 1, spacingMs: 1, maxSpacingMs: 1 },
  serverSlotMachine: { begins: 'waiting' },
  managedServerMachine: { times: { retryMs: 1, maxRetryMs: 1 }, now: () => 0 },
  followedTaskMachine: { task: { taskId: 't', status: 'working' }, era: 'modern', maxRounds: 1 },
  taskMachine: { taskId: 't', ttlMs: 1, pollIntervalMs: 1, timeOfDay: () => '' },
  subscriptionMachine: {
    id: 1,
    interests: { lists: [], uris: [], taskIds: [] },
    port: { notify: () => {}, isWritable: true, whenWritable: () => {} },
  },
  authorizationMachine: { port: {}, visitTimeoutMs: 1 },
  deviceLoginMachine: { port: {}, intervalMs: 1000, expiresInMs: 1000 },
  httpStreamMachine: {
    port: { resume: () => {}, gaveUp: () => {}, abandon: () => {}, scatterMs: () => 1000 },
    times: streamResumption,
    begins: 'open',
  },
};

/**
 * Names that are used but not declared. XState ignores such actions, and fires such delays
 * immediately.
 */
function undeclared(machine: AnyStateMachine): string[] {
  const declared = machine.implementations;
  const names = usedNames(machine)
    .filter(
      ([kind, name]) => !name.startsWith('xstate.') && !Object.hasOwn(declared[kind] ?? {}, name),
    )
    .map(([kind, name]) => `${kind}: ${name}`);
  return [...new Set(names)];
}

test('walks every machine', () => {
  expect([...machines.keys()].sort()).toEqual(Object.keys(contexts).sort());
});

describe.each([...machines])('%s', (name, machine) => {
  test('names only declared delays, guards, actions and actors', () => {
    expect(undeclared(machine)).toEqual([]);
  });

  test('uses everything it declares', () => {
    const used = new Set(usedNames(machine).map((each) => each.join()));
    const { actions, delays, guards } = machine.implementations;
    const declared = [
      ...Object.keys(actions).map((each) => `actions,${each}`),
      ...Object.keys(delays).map((each) => `delays,${each}`),
      ...Object.keys(guards).map((each) => `guards,${each}`),
    ];
    expect(declared.filter((each) => !used.has(each))).toEqual([]);
  });

  test('resolves each delay to a valid timer delay', () => {
    for (const [delay, resolve] of Object.entries(machine.implementations.delays)) {
      for (const context of contexts[name] ?? []) {
        const ms: unknown =
          typeof resolve === 'function' ? resolve({ context } as never, undefined) : resolve;
        expect(ms, delay).toSatisfy((value) => Number.isFinite(value) && value >= 0);
        expect(ms, delay).toBeLessThan(2 ** 31);
      }
    }
  });

  test('has only times and names as delays', () => {
    for (const delay of nodesOf(machine.root).flatMap(delaysOf)) {
      expect(`${delay as string | number}`).toMatch(/^(\d+|[a-z]\w+Timeout)$/);
    }
  });

  test('can reach each of its states', () => {
    const reached = reachableNodes(machine);
    const lost = nodesOf(machine.root).filter((node) => !reached.has(node));
    expect(lost.map(({ id }) => id)).toEqual([]);
  });

  test('starts the same way every time', () => {
    const [first] = initialTransition(machine, inputs[name]);
    const [second] = initialTransition(machine, inputs[name]);
    expect(first.value).toEqual(second.value);
  });
});

describe('the walk over machines', () => {
  const broken = setup({
    actions: { known: () => {} },
    guards: { isKnown: () => true },
    delays: { knownTimeout: 1 },
  }).createMachine({
    id: 'broken',
    initial: 'a',
    states: {
      a: {
        entry: 'typo' as never,
        after: { typoTimeout: 'b' } as never,
        on: {
          next: { guard: 'isTypo' as never, target: 'b', actions: ['known', 'slip' as never] },
        },
      },
      b: { invoke: { src: 'nobody' } as never },
      island: {},
    },
  });

  test('finds each kind of undeclared name', () => {
    expect(undeclared(broken).sort()).toEqual([
      'actions: slip',
      'actions: typo',
      'actors: nobody',
      'delays: typoTimeout',
      'guards: isTypo',
    ]);
  });

  test('finds an unreachable state', () => {
    const reached = reachableNodes(broken);
    expect(
      nodesOf(broken.root)
        .filter((node) => !reached.has(node))
        .map(({ id }) => id),
    ).toEqual(['broken.island']);
  });
});
