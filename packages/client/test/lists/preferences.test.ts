/** What a host wants of its server on every channel: a server in the test's own hands. */
import { unobserved } from '../../../../src/actors/transitions.ts';
import { describe, expect, test } from 'vitest';
import { Preferences } from '../../src/lists/preferences.ts';
import { ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { TestClock, flush } from '../../../testing/src/index.ts';

const listen = 'subscriptions/listen';

function preferencesByHand() {
  interface Sent {
    readonly method: string;
    readonly params: JsonObject | undefined;
    answer(): void;
    fail(error: unknown): void;
  }
  const clock = new TestClock();
  const sent: Sent[] = [];
  const ended: number[] = [];
  const problems: string[] = [];
  const preferences = new Preferences({
    clock,
    limits: { listenRetryMs: 1000, maxListenRetryMs: 30_000 },
    observed: unobserved,
    problem: (name, message) => problems.push(`${name} ${message}`),
    request: (method, params, { signal, sent: got }) =>
      new Promise((resolve, reject) => {
        const index = sent.length;
        sent.push({ method, params, answer: () => resolve({}), fail: reject });
        signal?.addEventListener('abort', () => ended.push(index));
        got?.(index);
      }),
  });
  const acknowledge = (index: number, agreed?: readonly string[]) => {
    const asked = sent[index]?.params?.['notifications'] as JsonObject | undefined;
    preferences.acknowledged({
      _meta: { 'io.modelcontextprotocol/subscriptionId': index },
      notifications: agreed ? { resourceSubscriptions: agreed } : asked,
    });
  };
  const lines = () =>
    sent.map(({ method, params }) => {
      const { uri, level, notifications } = (params ?? {}) as {
        readonly uri?: string;
        readonly level?: string;
        readonly notifications?: { readonly resourceSubscriptions: readonly string[] };
      };
      const uris = notifications?.resourceSubscriptions ?? [];
      return [method, uri, level, ...uris].filter((word) => word !== undefined).join(' ');
    });
  const wait = { timeoutMs: 1000 };
  return { clock, preferences, sent, ended, problems, acknowledge, lines, wait };
}

describe('before a server that takes requests', () => {
  test('a resource is watched once the server has agreed, on every later channel too', async () => {
    const { preferences, sent, lines, wait } = preferencesByHand();
    preferences.opened('legacy');
    const [good, bad] = [
      preferences.subscribe('test://a', 'legacy', wait),
      preferences.subscribe('test://b', 'legacy', wait),
    ];
    sent[0]?.answer();
    sent[1]?.fail(new ProtocolError(-32602, 'No such resource'));
    await good;
    await expect(bad).rejects.toMatchObject({ code: -32602 });
    expect(preferences.uris).toEqual(['test://a']);
    preferences.closed();
    preferences.opened('legacy');
    expect(lines().slice(2)).toEqual(['resources/subscribe test://a']);
  });

  test('what the next one does not take is told, and not asked for again', async () => {
    const { preferences, sent, lines, problems, wait } = preferencesByHand();
    preferences.opened('legacy');
    const watching = preferences.subscribe('test://a', 'legacy', wait);
    sent[0]?.answer();
    await watching;
    preferences.opened('legacy');
    sent[1]?.fail(new ProtocolError(-32602, 'No such resource'));
    await flush();
    expect(problems).toEqual([
      'subscription.lost "test://a" is no longer watched: ProtocolError: No such resource',
    ]);
    preferences.opened('legacy');
    expect(lines()).toHaveLength(2);
  });

  test.each(['CLOSED', 'NOT_READY', 'REQUEST_TIMEOUT'] as const)(
    'what was lost with its channel is asked for on the next one, what has failed is not: %s',
    async (code) => {
      const { preferences, sent, lines, problems, wait } = preferencesByHand();
      preferences.opened('legacy');
      const watching = preferences.subscribe('test://a', 'legacy', wait);
      sent[0]?.answer();
      await watching;
      preferences.opened('legacy');
      preferences.closed();
      sent[1]?.fail(new RuntimeError(code, 'gone'));
      await flush();
      preferences.opened('legacy');
      expect([lines().length, problems.length]).toEqual(
        code === 'REQUEST_TIMEOUT' ? [2, 1] : [3, 0],
      );
    },
  );

  test('what is not wanted any more is undone, if there is a server', async () => {
    const { preferences, sent, lines, wait } = preferencesByHand();
    preferences.opened('legacy');
    for (const uri of ['test://a', 'test://b']) {
      const watching = preferences.subscribe(uri, 'legacy', wait);
      sent.at(-1)?.answer();
      await watching;
    }
    const undone = preferences.unsubscribe('test://a', wait);
    sent.at(-1)?.answer();
    await undone;
    preferences.closed();
    await preferences.unsubscribe('test://b', wait);
    preferences.opened('legacy');
    expect(lines().slice(2)).toEqual(['resources/unsubscribe test://a']);
  });

  test('the log level is set again', async () => {
    const { preferences, sent, lines, wait } = preferencesByHand();
    preferences.opened('legacy');
    const setting = preferences.setLogLevel('warning', 'legacy', wait);
    sent[0]?.answer();
    await setting;
    preferences.closed();
    preferences.opened('legacy');
    expect(lines()).toEqual(['logging/setLevel warning', 'logging/setLevel warning']);
    expect(preferences.logLevel).toBe('warning');
  });
});

describe('before a server that is listened to', () => {
  test('what is wanted in one turn is one subscription, agreed on with its acknowledgment', async () => {
    const { preferences, lines, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    const watching = ['test://a', 'test://b'].map((uri) =>
      preferences.subscribe(uri, 'modern', wait),
    );
    await flush();
    expect(lines()).toEqual([`${listen} test://a test://b`]);
    acknowledge(0);
    await Promise.all(watching);
    await preferences.subscribe('test://a', 'modern', wait);
    expect(lines()).toHaveLength(1);
  });

  test('one more resource is another subscription: the one before ends when that is open', async () => {
    const { preferences, lines, ended, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    void preferences.subscribe('test://a', 'modern', wait);
    await flush();
    acknowledge(0);
    const watching = preferences.subscribe('test://b', 'modern', wait);
    await flush();
    expect(lines()[1]).toBe(`${listen} test://a test://b`);
    expect(ended).toEqual([]);
    acknowledge(1);
    await watching;
    expect(ended).toEqual([0]);
  });

  test('one that is not open yet ends when there is another, and none but the open one is kept', async () => {
    const { preferences, ended, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    const watch = async (uri: string) => {
      void preferences.subscribe(uri, 'modern', wait);
      await flush();
    };
    await watch('test://a');
    await watch('test://b');
    expect(ended).toEqual([0]);
    acknowledge(1);
    await watch('test://c');
    await watch('test://d');
    expect(ended).toEqual([0, 2]);
    acknowledge(3);
    expect(ended).toEqual([0, 2, 1]);
    preferences.opened('modern');
    expect(ended).toEqual([0, 2, 1, 3]);
  });

  test('what it does is shown by name', async () => {
    const { preferences, acknowledge, wait } = preferencesByHand();
    const shown = () =>
      preferences.machines.map(({ machine, actor }) => [
        machine,
        actor.id,
        actor.getSnapshot().value,
      ]);
    preferences.opened('modern');
    for (const id of [0, 1]) {
      const watching = preferences.subscribe('test://a', 'modern', wait);
      await flush();
      expect(shown()).toEqual([
        ['updates', 'resources updates', 'subscribing'],
        ['listening', 'resources listening', { asked: 'opening' }],
      ]);
      acknowledge(id);
      await watching;
      await preferences.unsubscribe('test://a', wait);
      await flush();
      expect(shown()).toEqual([]);
    }
  });

  test.each([undefined, {}, { resourceSubscriptions: 'test://a' }])(
    'an acknowledgment that names nothing agrees to nothing: %o',
    async (notifications) => {
      const { preferences, wait } = preferencesByHand();
      preferences.opened('modern');
      const watching = preferences.subscribe('test://a', 'modern', wait);
      await flush();
      const _meta = { 'io.modelcontextprotocol/subscriptionId': 0 };
      preferences.acknowledged({ _meta, ...(notifications && { notifications }) });
      await expect(watching).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    },
  );

  test('what the next server does not agree to is told, and wanted no more', async () => {
    const { preferences, acknowledge, problems, wait } = preferencesByHand();
    preferences.opened('modern');
    for (const uri of ['test://a', 'test://b']) void preferences.subscribe(uri, 'modern', wait);
    await flush();
    acknowledge(0);
    preferences.closed();
    preferences.opened('modern');
    acknowledge(1, ['test://a']);
    expect(problems).toEqual([
      'subscription.lost The server does not announce changes of "test://b"',
    ]);
    expect(preferences.uris).toEqual(['test://a']);
  });

  test('what the server does not agree to is refused, and the rest is watched [LISTS-04]', async () => {
    const { preferences, lines, acknowledge, problems, wait } = preferencesByHand();
    preferences.opened('modern');
    const [good, bad] = ['test://a', 'test://b'].map((uri) =>
      preferences.subscribe(uri, 'modern', wait),
    );
    await flush();
    acknowledge(0, ['test://a']);
    await good;
    await expect(bad).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    await flush();
    expect(lines()[1]).toBe(`${listen} test://a`);
    expect(problems).toEqual([]);
  });

  test('who has stopped already, or stops what is not watched, asks for nothing', async () => {
    const { preferences, lines, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    const waiter = new AbortController();
    const [stopped, other] = [waiter.signal, undefined].map((signal) =>
      preferences.subscribe('test://a', 'modern', { ...wait, signal }),
    );
    await flush();
    waiter.abort('enough');
    await expect(stopped).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    const late = preferences.subscribe('test://b', 'modern', { ...wait, signal: waiter.signal });
    await expect(late).rejects.toMatchObject({ code: 'CANCELLED', cause: 'enough' });
    await preferences.unsubscribe('test://c', wait);
    await flush();
    acknowledge(0);
    await other;
    expect([lines(), preferences.uris]).toEqual([[`${listen} test://a`], ['test://a']]);
  });

  test('a server that knows no subscriptions refuses each', async () => {
    const { preferences, sent, wait } = preferencesByHand();
    preferences.opened('modern');
    const watching = preferences.subscribe('test://a', 'modern', wait);
    await flush();
    sent[0]?.fail(new ProtocolError(-32601, 'Method not found'));
    await expect(watching).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
    expect(preferences.uris).toEqual([]);
  });

  test('one who waits for the agreement may stop, or is told that the time is over', async () => {
    const { preferences, clock, wait } = preferencesByHand();
    preferences.opened('modern');
    const controller = new AbortController();
    const { signal } = controller;
    const [cancelled, late] = [
      preferences.subscribe('test://a', 'modern', { ...wait, signal }),
      preferences.subscribe('test://b', 'modern', wait),
    ];
    controller.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
    clock.increment(1000);
    await expect(late).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect(preferences.uris).toEqual([]);
  });

  test('a cut is told, since changes may be missed; it listens anew', async () => {
    const { preferences, sent, clock, lines, problems, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    const watching = preferences.subscribe('test://a', 'modern', wait);
    await flush();
    acknowledge(0);
    await watching;
    sent[0]?.fail(new RuntimeError('CLOSED', 'cut'));
    await flush();
    expect(problems).toEqual([expect.stringContaining('subscription.cut Changes of 1 resources')]);
    clock.increment(1000);
    expect(lines()).toHaveLength(2);
  });

  test('a subscription that opens anew does not end the one that is to replace it', async () => {
    const { preferences, sent, clock, lines, ended, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    void preferences.subscribe('test://a', 'modern', wait);
    await flush();
    acknowledge(0);
    sent[0]?.fail(new RuntimeError('CLOSED', 'cut'));
    const watching = preferences.subscribe('test://b', 'modern', { timeoutMs: 5000 });
    await flush();
    clock.increment(1000);
    expect(lines().slice(1)).toEqual([`${listen} test://a test://b`, `${listen} test://a`]);
    acknowledge(2);
    expect(ended).toEqual([]);
    acknowledge(1);
    await watching;
    expect(ended).toEqual([2]);
  });

  test('the last resource ends the subscription, and the next channel begins another', async () => {
    const { preferences, ended, lines, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    void preferences.subscribe('test://a', 'modern', wait);
    await flush();
    acknowledge(0);
    preferences.closed();
    expect(ended).toEqual([0]);
    preferences.opened('modern');
    await flush();
    acknowledge(1);
    await preferences.unsubscribe('test://a', wait);
    await flush();
    expect(ended).toEqual([0, 1]);
    expect(lines()).toHaveLength(2);
  });

  test('the log level is not sent: it is in the envelope of each request', async () => {
    const { preferences, lines, wait } = preferencesByHand();
    preferences.opened('modern');
    await preferences.setLogLevel('error', 'modern', wait);
    expect([lines(), preferences.logLevel]).toEqual([[], 'error']);
  });

  test('at the end whoever waits hears why', async () => {
    const { preferences, clock, ended, acknowledge, wait } = preferencesByHand();
    preferences.opened('modern');
    void preferences.subscribe('test://a', 'modern', wait);
    await flush();
    acknowledge(0);
    const watching = preferences.subscribe('test://b', 'modern', wait);
    await flush();
    preferences.end(new RuntimeError('CLOSED', 'closed'));
    expect(ended).toEqual([0, 1]);
    await expect(watching).rejects.toMatchObject({ code: 'CLOSED' });
    expect(clock.liveTimers).toBe(0);
  });
});
