/** Every event in every state of a subscription: target, and messages to the client. */
import { initialTransition, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import { subscriptionMachine } from '../../src/machines/subscription.machine.ts';
import type { SubscriptionEvent } from '../../src/machines/subscription.machine.ts';
import type { ChangeNotification } from '../../src/protocol/subscriptions.ts';
import { clientId } from '../actors/ids.ts';

const updated: ChangeNotification = {
  method: 'notifications/resources/updated',
  subject: 'test://a',
  params: () => ({ uri: 'test://a' }),
};
const other: ChangeNotification = { ...updated, subject: 'test://b' };
const noticed = (notice: ChangeNotification): SubscriptionEvent => ({
  type: 'change.noticed',
  notice,
});

const flowing: SubscriptionEvent = { type: 'output.flowing' };
const closing: SubscriptionEvent = { type: 'connection.closing' };
const ended: SubscriptionEvent = { type: 'request.ended' };

/** State and actions after these events, with a client that is reading or not. */
function after(events: readonly SubscriptionEvent[], isWritable: boolean) {
  const port = { notify: () => {}, isWritable, whenWritable: () => {} };
  const interests = {
    lists: ['notifications/tools/list_changed'],
    uris: ['test://a'],
    taskIds: [],
  };
  let [snapshot, actions] = initialTransition(subscriptionMachine, {
    id: clientId(1),
    interests,
    port,
  });
  for (const event of events)
    [snapshot, actions] = transition(subscriptionMachine, snapshot, event);
  const held = snapshot.context.held.map(({ subject }) => subject);
  return { state: snapshot.value, held, actions: actions.map(({ type }) => type) };
}

describe('the subscription machine', () => {
  test('acknowledges the subscription at its start', () => {
    expect(after([], true)).toEqual({ state: 'listening', held: [], actions: ['acknowledge'] });
  });

  test.each<[string, SubscriptionEvent[], boolean, ReturnType<typeof after>]>([
    ['tells', [noticed(updated)], true, { state: 'listening', held: [], actions: ['notify'] }],
    ['tells not', [noticed(other)], true, { state: 'listening', held: [], actions: [] }],
    [
      'holds',
      [noticed(updated)],
      false,
      { state: 'congested', held: ['test://a'], actions: ['awaitFlow'] },
    ],
    [
      'holds once',
      [noticed(updated), noticed(updated), noticed(other)],
      false,
      { state: 'congested', held: ['test://a'], actions: [] },
    ],
    [
      'tells what it held',
      [noticed(updated), flowing],
      false,
      { state: 'listening', held: [], actions: ['notifyHeld'] },
    ],
    ['closes', [closing], true, { state: 'closed', held: [], actions: [] }],
    [
      'closes, congested',
      [noticed(updated), closing],
      false,
      { state: 'closed', held: ['test://a'], actions: [] },
    ],
    ['ends', [ended], true, { state: 'ended', held: [], actions: [] }],
    [
      'ends, congested',
      [noticed(updated), ended],
      false,
      { state: 'ended', held: ['test://a'], actions: [] },
    ],
    ['ignores room that it has', [flowing], true, { state: 'listening', held: [], actions: [] }],
  ])('%s', (_, events, isWritable, expected) => {
    const { actions, ...rest } = after(events, isWritable);
    const own = actions.filter((type) => !type.startsWith('xstate.'));
    expect({ ...rest, actions: own }).toEqual(expected);
  });
});
