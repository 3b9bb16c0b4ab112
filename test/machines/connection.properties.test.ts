/** Random orders of disconnects, exits, answers, closing, reopening and elapsed time. */
import fc from 'fast-check';
import { SimulatedClock, createActor } from 'xstate';
import { expect, test } from 'vitest';
import type {
  ConnectionInput,
  HandshakeEvent,
  HandshakeFact,
  HandshakeInput,
  ServerProfile,
} from '../../packages/client/src/connection/connection-context.ts';
import type { ConnectionCommand } from '../../packages/client/src/connection/connection-events.ts';
import type {
  ChannelEvent,
  ChannelInput,
  ChannelReport,
} from '../../packages/client/src/channel/connection-ports.ts';
import { connectionMachine } from '../../packages/client/src/connection/connection.machine.ts';
import { plainActor } from '../../src/machines/port.ts';
import { processRestart } from '../../packages/client/src/channel/restart-option.ts';
import { recorder } from './stand-ins.ts';

/** An actor that ignores all events. */
const ignoring = recorder<never, never>([]) as never;

const maxAttempts = 3;
const input: ConnectionInput = {
  times: { connectTimeoutMs: 30_000, probeMs: 500, loginTimeoutMs: 300_000 },
  restart: { ...processRestart, maxAttempts },
  random: () => 0.5,
  era: { kind: 'unknown' },
  shows: 'pipe',
  opens: 'again',
};
const profile = (era: 'legacy' | 'modern'): ServerProfile => ({
  era,
  revision: '2025-11-25',
  info: { name: 'server', version: '1' },
  capabilities: {},
});
const ends = { reader: ignoring, writer: ignoring };

/** The next step of the environment. `told` is an event of the open channel, if any. */
type Step =
  | { readonly kind: 'told'; readonly fact: ChannelReport }
  | { readonly kind: 'answered'; readonly fact: HandshakeFact }
  | { readonly kind: 'host'; readonly command: ConnectionCommand }
  | { readonly kind: 'time'; readonly ms: number };

const told = (fact: ChannelReport): Step => ({ kind: 'told', fact });
const answered = (fact: HandshakeFact): Step => ({ kind: 'answered', fact });
const host = (type: ConnectionCommand['type']): Step => ({ kind: 'host', command: { type } });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant(told({ type: 'channel.opened', ends })) },
  fc.constantFrom<Step>(
    told({ type: 'channel.lost', loss: { kind: 'exited', code: 1, signal: null, stderr: '' } }),
    told({ type: 'channel.lost', loss: { kind: 'spawn-failed', error: 'ENOENT' } }),
    told({ type: 'channel.challenged' }),
    told({ type: 'channel.authorized' }),
    told({ type: 'session.expired' }),
  ),
  { weight: 3, arbitrary: fc.constant(told({ type: 'channel.stopped' })) },
  fc.constantFrom<Step>(
    answered({ type: 'era.found', era: 'legacy' }),
    answered({ type: 'era.found', era: 'modern', profile: profile('modern') }),
    answered({ type: 'era.refused', error: new Error('none') }),
    answered({ type: 'greeting.accepted', profile: profile('legacy') }),
    answered({ type: 'greeting.refused', error: new Error('no') }),
  ),
  fc.constantFrom<Step>(
    host('connection.open'),
    host('connection.reopen'),
    host('connection.close'),
  ),
  fc.constantFrom<Step>(
    { kind: 'time', ms: 100 },
    { kind: 'time', ms: 600 },
    { kind: 'time', ms: 31_000 },
    { kind: 'time', ms: 61_000 },
  ),
);

/** A connection whose channels follow the steps, and the number of its processes. */
function startWorld() {
  const world = { alive: 0, launches: 0 };
  let tell: ((fact: ChannelReport) => void) | undefined;
  let answer: ((fact: HandshakeFact) => void) | undefined;
  const channel = plainActor<ChannelEvent, ChannelInput>((started) => {
    world.alive += 1;
    world.launches += 1;
    let phase: 'running' | 'gone' = 'running';
    const gone = () => {
      if (phase === 'running') world.alive -= 1;
      phase = 'gone';
    };
    tell = (fact) => {
      if (phase === 'gone') return;
      if (fact.type === 'channel.stopped') gone();
      started.input.connection.send(fact);
    };
    return { receive: () => {}, stop: gone };
  });
  const handshake = plainActor<HandshakeEvent, HandshakeInput>((started) => {
    answer = (fact) => started.input.connection.send(fact);
    return { receive: () => {}, stop: () => (answer = undefined) };
  });
  const clock = new SimulatedClock();
  const machine = connectionMachine.provide({
    actors: {
      channel,
      handshake,
      reader: ignoring,
      writer: ignoring,
      router: ignoring,
      correlation: ignoring,
    },
  });
  const actor = createActor(machine, { input, clock });
  actor.start();
  const take = (each: Step) => {
    if (each.kind === 'told') tell?.(each.fact);
    else if (each.kind === 'answered') answer?.(each.fact);
    else if (each.kind === 'host') actor.send(each.command);
    else clock.increment(each.ms);
  };
  return { world, actor, take };
}

const steps = fc.array(step, { maxLength: 60 });

test('never runs two processes of one connection at the same time', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const { world, take } = startWorld();
      for (const each of all) {
        take(each);
        expect(world.alive).toBeLessThanOrEqual(1);
      }
    }),
    { numRuns: 300 },
  );
});

test('opens no second channel for a login from before the channel was open', () => {
  const { world, take } = startWorld();
  take({ kind: 'host', command: { type: 'connection.open' } });
  take({ kind: 'told', fact: { type: 'channel.challenged' } });
  take({ kind: 'told', fact: { type: 'channel.authorized' } });
  expect([world.alive, world.launches]).toEqual([1, 1]);
});

test('launches nothing after close, until reopened', () => {
  fc.assert(
    fc.property(steps, steps, (before, then) => {
      const { world, actor, take } = startWorld();
      before.forEach(take);
      actor.send({ type: 'connection.close' });
      const launched = world.launches;
      for (const each of then) {
        if (each.kind === 'host' && each.command.type === 'connection.open') continue;
        take(each);
        expect(world.launches).toBe(launched);
      }
    }),
    { numRuns: 200 },
  );
});

test('tries no more often than the policy allows, and resets the count only after a stable time or on request', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const { actor, take } = startWorld();
      for (const each of all) {
        const before = actor.getSnapshot();
        take(each);
        const { attempts } = actor.getSnapshot().context;
        expect(attempts).toBeLessThanOrEqual(maxAttempts);
        if (attempts >= before.context.attempts) continue;
        const isHost = each.kind === 'host' && each.command.type === 'connection.reopen';
        const wasStable =
          before.matches({ ready: 'fresh' }) && each.kind === 'time' && each.ms > 60_000;
        expect(isHost || wasStable).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test('always ends on close, whatever its channel did before', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const { world, actor, take } = startWorld();
      all.forEach(take);
      actor.send({ type: 'connection.close' });
      take(told({ type: 'channel.stopped' }));
      expect(actor.getSnapshot().value).toBe('closed');
      expect(world.alive).toBe(0);
    }),
    { numRuns: 150 },
  );
});

/** A server that initializes and exits. */
const greetsAndDies: readonly Step[] = [
  told({ type: 'channel.opened', ends }),
  answered({ type: 'era.found', era: 'modern', profile: profile('modern') }),
  told({ type: 'channel.lost', loss: { kind: 'exited', code: 1, signal: null, stderr: '' } }),
  told({ type: 'channel.stopped' }),
];

test('launches a server that initializes and dies as often as the policy allows', () => {
  const { world, actor, take } = startWorld();
  actor.send({ type: 'connection.open' });
  for (let round = 0; round < 20; round++) {
    greetsAndDies.forEach(take);
    take({ kind: 'time', ms: 31_000 });
  }
  expect(actor.getSnapshot().value).toBe('failed');
  expect(world.launches).toBe(1 + maxAttempts);
});

/** A server that exits on the first message. */
const dies: readonly Step[] = [
  told({ type: 'channel.opened', ends }),
  told({ type: 'channel.lost', loss: { kind: 'exited', code: 1, signal: null, stderr: '' } }),
  told({ type: 'channel.stopped' }),
];

test('launches a server that dies at once, probed or initialized, as often as the policy allows', () => {
  const { world, actor, take } = startWorld();
  actor.send({ type: 'connection.open' });
  for (let round = 0; round < 20; round++) {
    dies.forEach(take);
    take({ kind: 'time', ms: 31_000 });
  }
  expect(actor.getSnapshot().value).toBe('failed');
  expect(world.launches).toBe(1 + maxAttempts);
});

test('bounds launches by the policy in any sequence, except for the one lost to a probe', () => {
  fc.assert(
    fc.property(steps, (all) => {
      const { world, actor, take } = startWorld();
      actor.send({ type: 'connection.open' });
      for (const each of all) {
        // A host, and a stable time, reset the count.
        if (each.kind !== 'host' && (each.kind !== 'time' || each.ms <= 600)) take(each);
      }
      expect(world.launches).toBeLessThanOrEqual(1 + maxAttempts + 1);
    }),
    { numRuns: 300 },
  );
});

test('resets the count after a stable time, and no earlier', () => {
  const { actor, take } = startWorld();
  const attempts = () => actor.getSnapshot().context.attempts;
  actor.send({ type: 'connection.open' });
  greetsAndDies.forEach(take);
  take({ kind: 'time', ms: 500 });
  greetsAndDies.slice(0, 2).forEach(take);
  expect(actor.getSnapshot().value).toEqual({ ready: 'fresh' });
  take({ kind: 'time', ms: processRestart.stableMs - 1 });
  expect(attempts()).toBe(1);
  take({ kind: 'time', ms: 1 });
  expect(attempts()).toBe(0);
});
