import { createActor } from 'xstate';
import { describe, expect, test } from 'vitest';
import { serverSlotMachine } from '../../packages/client/src/hosts/server-slot.machine.ts';
import type {
  ServerSlotEvent,
  ServerSlotInput,
} from '../../packages/client/src/hosts/server-slot.machine.ts';

const use: ServerSlotEvent = { type: 'server.use' };
const close: ServerSlotEvent = { type: 'server.close' };
const opened: ServerSlotEvent = { type: 'connection.opened' };
const closed: ServerSlotEvent = { type: 'connection.closed' };
const refused: ServerSlotEvent = { type: 'connection.refused', error: new Error('no command') };

const after = (begins: ServerSlotInput['begins'], ...events: readonly ServerSlotEvent[]) => {
  const actor = createActor(serverSlotMachine, { input: { begins } }).start();
  for (const event of events) actor.send(event);
  return actor.getSnapshot();
};

describe('the server-slot machine', () => {
  test.each<[ServerSlotInput['begins'], readonly ServerSlotEvent[], string]>([
    ['waiting', [], 'waiting'],
    ['waiting', [use], 'opening'],
    ['waiting', [use, opened], 'open'],
    ['waiting', [use, refused], 'refused'],
    ['waiting', [use, refused, use], 'refused'],
    ['waiting', [use, opened, closed], 'idle'],
    ['waiting', [use, opened, closed, use], 'opening'],
    ['waiting', [use, close], 'closed'],
    ['idle', [], 'idle'],
    ['idle', [use, opened, use], 'open'],
    ['disabled', [use], 'disabled'],
    ['faulty', [use], 'faulty'],
    ['faulty', [close], 'closed'],
  ])('starting %s is after %j in the state %s', (begins, events, state) => {
    expect(after(begins, ...events).value).toBe(state);
  });

  test('says why it was rejected', () => {
    expect(after('idle', use, refused).context.error?.message).toBe('no command');
  });
});
