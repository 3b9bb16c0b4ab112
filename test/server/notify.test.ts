/** Notifications of an author's own, and whether they were taken. */
import { expect, test } from 'vitest';
import { operate, serve, textOf, tool } from '../contract/serving.ts';

test('returns true from context.notify when the notification is queued', async () => {
  const tells = tool('tells', (_, { notify, session }) =>
    JSON.stringify([
      notify('notifications/resources/updated', { uri: 'a:b' }),
      notify('notifications/tools/list_changed'),
      session.notify('notifications/resources/updated', { uri: 'c:d' }),
    ]),
  );
  const { peer } = await operate({ tools: [tells] });
  expect(textOf(await peer.call('tells'))).toBe('[true,true,true]');
  const told = () => peer.notification('notifications/resources/updated');
  expect([(await told()).params, (await told()).params]).toEqual([{ uri: 'a:b' }, { uri: 'c:d' }]);
});

test('returns false from notify after the call, and before or after the session', async () => {
  const kept: ((method: string) => boolean)[] = [];
  const keeps = tool('keeps', (_, { notify }) => {
    kept.push(notify);
    return '';
  });
  const early = serve({});
  expect(early.session.notify('notifications/example/early')).toBe(false);
  const { peer, session } = await operate({ tools: [keeps] });
  await peer.call('keeps');
  expect(kept.map((notify) => notify('notifications/example/late'))).toEqual([false]);
  peer.end();
  await session.closed;
  expect(session.notify('notifications/example/after')).toBe(false);
});

test('rejects an invalid notification and keeps the session open', async () => {
  const outcomes: unknown[] = [];
  const refused = tool('refused', (_, { notify, session }) => {
    for (const send of [notify, session.notify]) {
      for (const [method, params] of [
        ['notifications/example', { n: 1n }],
        ['notifications/cancelled', {}],
        ['', {}],
        [undefined as never, {}],
      ] as const) {
        try {
          outcomes.push(send(method, params));
        } catch (error) {
          outcomes.push(error);
        }
      }
    }
    return 'on';
  });
  const { peer, facts } = await operate({ tools: [refused] });
  expect(textOf(await peer.call('refused'))).toBe('on');
  const each = [
    { code: 'UNSERIALIZABLE', message: expect.stringContaining('notifications/example') },
    { name: 'TypeError', message: expect.stringContaining('abort the signal') },
    { name: 'TypeError', message: expect.stringContaining('must be a non-empty string') },
    { name: 'TypeError', message: expect.stringContaining('must be a non-empty string') },
  ];
  expect(outcomes).toMatchObject([...each, ...each]);
  expect(facts.of('response.unserializable')).toEqual([]);
});
