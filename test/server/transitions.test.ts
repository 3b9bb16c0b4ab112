/** What a session's machines do, heard where they do it. */
import { createMcpServer, memory } from 'mcp-actors';
import type { Fact, SessionImplementations, WatchedSession, Watcher } from 'mcp-actors';
import type { MachineTransition } from '../../src/actors/transitions.ts';
import { ScriptedPeer, TestClock, gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { createActor, fromPromise } from 'xstate';
import { record } from 'mcp-actors/recording';
import { keepaliveMachine } from '../../src/machines/keepalive.machine.ts';
import type { ProbeInput, ProbeOutcome } from '../../src/machines/keepalive.machine.ts';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { AskInput, AskOutcome } from '../../src/machines/roots.machine.ts';
import { taskMachine } from '../../packages/tasks/src/task.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import { tool } from '../contract/serving.ts';

const named = { name: 'heard', version: '1' };

/** A line for each transition, as they are heard. */
function hearing() {
  const heard: string[] = [];
  const actors = new Map<string, MachineTransition['actor']>();
  const listener = ({ machine, actor, event, before, after }: MachineTransition) => {
    actors.set(machine === 'task' ? actor.id : machine, actor);
    heard.push(`${machine} ${event.type}: ${stateName(before)} → ${stateName(after)}`);
  };
  const watcher: Watcher = ({ transitions }) => void transitions.listen(listener);
  return { heard, actors, listener, watcher };
}

function listening(watchers: readonly Watcher[], server = createMcpServer(named)) {
  const { transport, peer: wire } = memory();
  const facts: Fact[] = [];
  const session = server.listen(transport, {
    clock: new TestClock(),
    watchers,
    report: (fact) => facts.push(fact),
  });
  return { session, facts, peer: new ScriptedPeer(wire) };
}

describe('the machines of a session', () => {
  test('report every transition with its actor and both states', async () => {
    const { heard, actors, watcher } = hearing();
    const { session, peer } = listening([watcher]);
    await peer.handshake({ capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), { roots: [] });
    await peer.quiet();
    peer.end();
    await session.closed;
    expect(heard).toEqual([
      'session initialize.received: uninitialized → negotiated',
      'session initialized.received: negotiated → initialized',
      'roots roots.ask: unasked → querying.fresh',
      'roots xstate.done.actor.ask: querying.fresh → known',
      'session roots.updated: initialized → rootsKnown',
      'session input.ended: rootsKnown → draining.settling',
      'session calls.drained: draining.settling → draining.flushing',
      'session output.flushed: draining.flushing → closed',
    ]);
    expect(actors.get('session')).toBe(session.actor);
    expect(actors.get('roots')).toBe(session.actor.getSnapshot().context.roots);
  });

  test('report nothing to a removed listener or one of another session', async () => {
    const { heard, listener } = hearing();
    let end = () => {};
    const { peer } = listening([
      ({ transitions }) => {
        end = transitions.listen(listener);
      },
    ]);
    const other = listening([]);
    await other.peer.handshake();
    expect(heard).toEqual([]);
    await peer.handshake();
    expect(heard.length).toBeGreaterThan(0);
    const until = heard.length;
    end();
    peer.send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    await peer.quiet();
    expect(heard).toHaveLength(until);
  });

  test('do not report stop events', async () => {
    const { heard, watcher } = hearing();
    const { session, peer } = listening([watcher]);
    await peer.handshake();
    const until = heard.length;
    session.actor.stop();
    await session.closed;
    expect(heard).toHaveLength(until);
  });

  test('keep running and notify other listeners if a listener throws', async () => {
    const { heard, watcher } = hearing();
    const failing: Watcher = ({ transitions }) =>
      void transitions.listen(({ event }) => {
        throw new Error(`cannot bear ${event.type}`);
      });
    const { session, facts, peer } = listening([failing, watcher]);
    await peer.handshake();
    peer.end();
    expect(await session.closed).toEqual({ kind: 'input-ended' });
    const failed = facts.filter(({ name }) => name === 'listener.failed');
    expect(failed).toHaveLength(heard.length);
    expect(failed[0]?.message).toBe(
      'A listener to the machines failed: Error: cannot bear initialize.received',
    );
  });

  test('notify the recorder even if another listener fails', async () => {
    let text = '';
    const { transport, peer: wire } = memory();
    const peer = new ScriptedPeer(wire);
    const facts: Fact[] = [];
    const session = createMcpServer(named).listen(transport, {
      environment: record({ write: (more) => (text += more) }),
      report: (fact) => facts.push(fact),
      watchers: [
        ({ transitions }) =>
          void transitions.listen(() => {
            throw new Error('no');
          }),
      ],
    });
    await peer.handshake();
    peer.end();
    await session.closed;
    const lines = text.split('\n').filter((line) => line.includes('"machine":'));
    expect(lines).toHaveLength(5);
    expect(facts.filter(({ name }) => name === 'listener.failed')).toHaveLength(lines.length);
  });
});

describe('the machines of tasks', () => {
  test('report transitions with their task and leave the shared machine unchanged', async () => {
    const { transition } = taskMachine;
    const door = gate();
    const waiting = tool('wait', async () => {
      await door.pass();
      return 'done';
    });
    const wait = { ...waiting, taskSupport: 'optional' } as const;
    const { heard, actors, watcher } = hearing();
    const { peer } = listening([watcher], createMcpServer({ ...named, tools: [wait] }));
    await peer.handshake();
    const create = async () => {
      const { task } = await peer.ask('tools/call', { name: 'wait', arguments: {}, task: {} });
      return (task as { readonly taskId: string }).taskId;
    };
    const [cancelled, completed] = [await create(), await create()];
    heard.length = 0;
    await peer.ask('tasks/cancel', { taskId: cancelled });
    door.release();
    await peer.ask('tasks/result', { taskId: completed });
    expect(heard).toEqual([
      'task task.cancel: kept.open.working → kept.cancelled',
      'task run.answered: kept.open.working → kept.completed',
    ]);
    expect([...actors.keys()].slice(-2)).toEqual([cancelled, completed]);
    expect(taskMachine.transition).toBe(transition);
  });
});

describe('implementations provided by a host', () => {
  async function lives(implementations: SessionImplementations[]) {
    const { heard, watcher } = hearing();
    const { transport, peer: wire } = memory();
    const peer = new ScriptedPeer(wire);
    const logic = implementations.reduce(
      (given, more) => given.provide(more),
      createMcpServer(named).sessionLogic,
    );
    let watched: WatchedSession | undefined;
    const watchers: Watcher[] = [watcher, (session) => (watched = session)];
    const clock = new TestClock();
    const actor = createActor(logic, {
      clock,
      input: { transport, watchers, limits: { keepaliveIntervalMs: 1000 } },
    }).start();
    await peer.handshake({ capabilities: { roots: {} } });
    await peer.quiet();
    clock.increment(1000);
    await peer.quiet();
    actor.send({ type: 'session.shutdown', reason: 'enough' });
    await watched?.closed;
    return heard;
  }

  test('keep session transitions observable', async () => {
    const heard = await lives([{ actions: {} }, { delays: { drainTimeout: 5 } }]);
    expect(heard[0]).toBe('session initialize.received: uninitialized → negotiated');
    expect(heard.filter((line) => line.startsWith('session')).at(-1)).toMatch(/→ closed$/);
  });

  test('are observed if they replace the roots and keepalive machines', async () => {
    const ask = fromPromise<AskOutcome, AskInput>(() =>
      Promise.resolve({ kind: 'answered', roots: [] }),
    );
    const roots = rootsMachine.provide({ actors: { ask } });
    const probe = fromPromise<ProbeOutcome, ProbeInput>(() =>
      Promise.resolve({ kind: 'heard', agoMs: 0 }),
    );
    const keepalive = keepaliveMachine.provide({ actors: { probe } });
    const before = [roots.transition, keepalive.transition];
    const implementations = [{ actors: { roots } }, { actors: { keepalive } }];
    const [first, second] = [await lives(implementations), await lives(implementations)];
    for (const heard of [first, second]) {
      expect(heard).toContain('roots roots.ask: unasked → querying.fresh');
      expect(heard).toContain('roots xstate.done.actor.ask: querying.fresh → known');
      const due = 'keepalive xstate.after.listenTimeout.keepalive.listening: listening → probing';
      expect(heard).toContain(due);
      // Once, however many sessions have had the same machine.
      expect(heard.filter((line) => line.startsWith('roots roots.ask'))).toHaveLength(1);
    }
    expect([roots.transition, keepalive.transition]).toEqual(before);
  });
});
