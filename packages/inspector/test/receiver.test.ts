import { createActor, fromCallback } from 'xstate';
import { expect, onTestFinished, test } from 'vitest';
import { receiverMachine } from '../src/stately/receiver.machine.ts';
import type { ReceiverEvent, SocketCommand } from '../src/stately/receiver.machine.ts';
import { TestClock } from '../../../test/contract/test-clock.ts';

/** A receiver machine whose sockets are played by the test. */
function start() {
  const commands: (SocketCommand | 'gone')[] = [];
  const clock = new TestClock();
  let tell = (_: ReceiverEvent) => {};
  const socket = fromCallback<SocketCommand>(({ sendBack, receive }) => {
    tell = sendBack;
    receive((command) => commands.push(command));
    return () => commands.push('gone');
  });
  const emitted: string[] = [];
  const actor = createActor(receiverMachine.provide({ actors: { socket } }), { clock });
  actor.on('*', ({ type }) => emitted.push(type));
  actor.start();
  onTestFinished(() => {
    actor.stop();
  });
  return {
    actor,
    clock,
    commands,
    emitted,
    at: () => actor.getSnapshot().value,
    socket: (event: ReceiverEvent) => tell(event),
  };
}

const hello = { type: 'message.send', text: 'hello' } as const;

test('receiverMachine drops messages while disconnected and sends later ones', () => {
  const { actor, commands, emitted, socket } = start();
  actor.send(hello);
  expect(commands).toEqual([]);
  socket({ type: 'socket.opened' });
  actor.send(hello);
  expect(commands).toEqual([hello]);
  expect(emitted).toEqual(['receiver.opened']);
});

test('receiverMachine reconnects a second after a disconnect', () => {
  const { at, clock, emitted, socket } = start();
  socket({ type: 'socket.opened' });
  socket({ type: 'socket.lost' });
  expect(at()).toBe('waiting');
  clock.increment(999);
  expect(at()).toBe('waiting');
  clock.increment(1);
  expect(at()).toEqual({ linked: 'connecting' });
  socket({ type: 'socket.lost' });
  expect(at()).toBe('waiting');
  expect(emitted).toEqual(['receiver.opened', 'receiver.lost']);
});

test('receiverMachine closes after everything is sent', () => {
  const { actor, at, commands, emitted, socket } = start();
  socket({ type: 'socket.opened' });
  actor.send(hello);
  actor.send({ type: 'receiver.close' });
  expect(at()).toEqual({ linked: 'closing' });
  expect(commands).toEqual([hello, { type: 'socket.close' }]);
  actor.send(hello);
  expect(commands).toHaveLength(2);
  socket({ type: 'socket.lost' });
  expect(at()).toBe('closed');
  expect(emitted).toEqual(['receiver.opened', 'receiver.lost']);
});

test('receiverMachine closes after closeTimeout at the latest and leaves no timer', () => {
  const { actor, at, clock, commands, socket } = start();
  socket({ type: 'socket.opened' });
  actor.send({ type: 'receiver.close' });
  clock.increment(500);
  expect(at()).toBe('closed');
  expect(commands.at(-1)).toBe('gone');
  expect(clock.liveTimers).toBe(0);
});

test.each(['connecting', 'waiting'] as const)(
  'receiverMachine closes immediately while %s',
  (state) => {
    const { actor, at, clock, socket } = start();
    if (state === 'waiting') socket({ type: 'socket.lost' });
    actor.send({ type: 'receiver.close' });
    expect(at()).toBe('closed');
    expect(clock.liveTimers).toBe(0);
  },
);

test('receiverMachine sends nothing to another user’s receiver and keeps retrying', () => {
  const { actor, at, clock, commands, emitted, socket } = start();
  socket({ type: 'socket.refused', uid: 1001 });
  expect(at()).toBe('waiting');
  actor.send(hello);
  expect(commands).toEqual(['gone']);
  expect(emitted).toEqual(['receiver.refused']);
  clock.increment(1000);
  expect(at()).toEqual({ linked: 'connecting' });
});

test('receiverMachine warns before sending to a receiver of unknown owner', () => {
  const { actor, commands, emitted, socket } = start();
  socket({ type: 'socket.openedUnproven' });
  actor.send(hello);
  expect(commands).toEqual([hello]);
  expect(emitted).toEqual(['receiver.unproven', 'receiver.opened']);
});
