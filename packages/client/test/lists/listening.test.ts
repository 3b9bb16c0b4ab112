/** The lists of a server that tells its changes to those who listen: before a server of ours of 2026-07-28. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { maxDelayMs } from '../../../../src/actors/clock.ts';
import { sleepCheckMs } from '../../../../src/actors/sleep-watch.ts';
import type { OwnRequestOptions } from '../../src/lists/ask-list.actor.ts';
import { defineTool } from '../../../../src/index.ts';
import { ProtocolError, RuntimeError } from '../../../../src/protocol/errors.ts';
import { flush } from '../../../testing/src/index.ts';
import { beforeModern, listsBy } from './list-hosts.ts';
import type { HostOptions } from './list-hosts.ts';

const tool = (name: string) => defineTool({ name, description: name, handler: () => name });
const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);
const capabilities = {
  tools: { listChanged: true },
  prompts: {},
  resources: { listChanged: true },
};
const tells = { capabilities, era: 'modern' } as const;
const listen = 'subscriptions/listen';
const closed = Object.assign(new Error('gone'), { code: 'CLOSED' });

/** A server in the test's own hands: it answers what it is told to, when it is told to. */
function byHand(options: HostOptions = {}) {
  interface Sent {
    readonly method: string;
    readonly params: object | undefined;
    readonly id: number;
    readonly options: OwnRequestOptions;
    answer(result: object): void;
    fail(error: unknown): void;
  }
  const requests: Sent[] = [];
  const ended: number[] = [];
  const host = listsBy(
    (method, params, asked) =>
      new Promise((resolve, reject) => {
        const id = requests.length;
        const answer = (result: object) => resolve(result as never);
        requests.push({ method, params, id, options: asked, answer, fail: reject });
        asked.signal?.addEventListener('abort', () => ended.push(id));
        asked.sent?.(id);
      }),
    options,
  );
  const acknowledge = (id: number, notifications: object = { toolsListChanged: true }) =>
    host.lists.heard('notifications/subscriptions/acknowledged', {
      _meta: { 'io.modelcontextprotocol/subscriptionId': id },
      notifications,
    });
  const methods = () => requests.map(({ method }) => method);
  const answerTools = async (index: number, ...names: string[]) => {
    const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }));
    requests[index]?.answer({ tools });
    await flush();
  };
  return { ...host, requests, ended, acknowledge, methods, answerTools };
}

describe('before a server that tells only those who listen', () => {
  test('a host listens first, and hears of each change from then on', async () => {
    const { lists, server, sent, wait, open } = beforeModern({ tools: [tool('a')] });
    open({ tools: { listChanged: true } });
    expect(namesOf(await lists.tools.items(wait))).toEqual(['a']);
    expect(sent).toEqual([listen, 'tools/list']);
    const changed = new Promise<readonly string[]>((resolve) => {
      lists.tools.watch(({ state, items }) => {
        if (state === 'known' && items.length === 2) resolve(namesOf(items));
      });
    });
    server.tools?.add(tool('b'));
    expect(await changed).toEqual(['a', 'b']);
  });

  test('one subscription serves all lists that can change', async () => {
    const { lists, requests, acknowledge, methods } = byHand();
    lists.opened(tells);
    void lists.tools.items({ timeoutMs: 1 }).catch(() => {});
    void lists.resources.items({ timeoutMs: 1 }).catch(() => {});
    await flush();
    expect(requests[0]).toMatchObject({
      method: listen,
      params: { notifications: { toolsListChanged: true, resourcesListChanged: true } },
    });
    expect(methods()).toEqual([listen]);
    acknowledge(0);
    await flush();
    expect(methods()).toEqual([listen, 'tools/list', 'resources/list']);
  });

  test('a subscription has no deadline, and waits for no other channel; a list does not either', async () => {
    const { lists, wait, requests, acknowledge } = byHand();
    lists.opened(tells);
    void lists.tools.items(wait).catch(() => {});
    await flush();
    acknowledge(0);
    await flush();
    const whenAway = 'refuse';
    const endless = { timeoutMs: maxDelayMs, maxTotalMs: maxDelayMs };
    expect(requests.map(({ options }) => options)).toMatchObject([
      { whenAway, ...endless },
      { whenAway, signal: expect.any(AbortSignal) },
    ]);
  });

  test('a host listens with its first list, or from the beginning if it wants to', () => {
    for (const listens of ['first-list', 'ready', undefined] as const) {
      const { lists, methods } = byHand({ listens });
      lists.opened({ ...tells, era: 'legacy' });
      expect(methods()).toEqual([]);
      lists.closed();
      lists.opened(tells);
      expect(methods()).toEqual(listens === 'ready' ? [listen] : []);
    }
  });

  test('at the end nothing is left of what was asked or listened to', async () => {
    const { lists, clock, wait, ended } = byHand();
    lists.opened(tells);
    const waiting = expect(lists.tools.items(wait)).rejects.toMatchObject({ code: 'CLOSED' });
    await flush();
    lists.end(new RuntimeError('CLOSED', 'closed'));
    await waiting;
    expect([ended, clock.liveTimers]).toEqual([[0], 0]);
  });

  test('after a sleep of the computer it listens anew, in a while, so that not all do at once', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const today = vi.spyOn(Date, 'now');
    onTestFinished(() => void vi.restoreAllMocks());
    const { lists, clock, wait, ended, acknowledge, methods } = byHand();
    lists.opened(tells);
    void lists.tools.items(wait).catch(() => {});
    await flush();
    acknowledge(0);
    await flush();
    today.mockReturnValue(Date.now() + 3_600_000);
    clock.increment(sleepCheckMs);
    expect(ended).toEqual([0]);
    clock.increment(999);
    expect(methods()).toEqual([listen, 'tools/list']);
    clock.increment(1);
    expect(methods()).toEqual([listen, 'tools/list', listen]);
  });

  test('a list that cannot change is asked for at once', async () => {
    const { lists, methods } = byHand();
    lists.opened({ capabilities: { prompts: {} }, era: 'modern' });
    void lists.prompts.items({ timeoutMs: 1 }).catch(() => {});
    await flush();
    expect(methods()).toEqual(['prompts/list']);
  });

  test('a late acknowledgment has what was asked meanwhile asked once more', async () => {
    const { lists, clock, wait, acknowledge, answerTools, methods } = byHand();
    lists.opened(tells);
    const waiting = lists.tools.items(wait);
    await flush();
    clock.increment(1000);
    await flush();
    expect(methods()).toEqual([listen, 'tools/list']);
    await answerTools(1, 'before');
    expect(namesOf(await waiting)).toEqual(['before']);
    acknowledge(0);
    const after = lists.tools.items(wait);
    await flush();
    await answerTools(2, 'after');
    expect(namesOf(await after)).toEqual(['after']);
  });

  test('after a cut it listens anew, later each time, and asks again once it is heard', async () => {
    const { lists, clock, wait, requests, acknowledge, answerTools, methods } = byHand();
    lists.opened(tells);
    const waiting = lists.tools.items(wait);
    await flush();
    acknowledge(0);
    await flush();
    await answerTools(1, 'a');
    await waiting;
    requests[0]?.fail(closed);
    await flush();
    // Meanwhile there is no acknowledgment to wait for.
    const refreshed = lists.tools.items({ ...wait, refresh: true });
    await flush();
    expect(methods()).toEqual([listen, 'tools/list', 'tools/list']);
    requests.splice(2, 1)[0]?.answer({ tools: [] });
    await refreshed;
    clock.increment(999);
    expect(methods()).toEqual([listen, 'tools/list']);
    clock.increment(1);
    expect(methods()).toEqual([listen, 'tools/list', listen]);
    requests[2]?.answer({});
    await flush();
    clock.increment(1999);
    expect(methods()).toHaveLength(3);
    clock.increment(1);
    acknowledge(3);
    await flush();
    expect(methods()).toEqual([listen, 'tools/list', listen, listen, 'tools/list']);
    await answerTools(4, 'b');
    expect(namesOf(lists.tools.report.items)).toEqual(['b']);
  });

  test('an acknowledgment of another subscription is none [LISTS-03]', async () => {
    const { lists, wait, acknowledge, methods } = byHand();
    lists.opened(tells);
    void lists.tools.items(wait).catch(() => {});
    await flush();
    acknowledge(17);
    for (const params of [undefined, {}, { _meta: 7 }]) {
      lists.heard('notifications/subscriptions/acknowledged', params as never);
    }
    await flush();
    expect(methods()).toEqual([listen]);
  });

  test('a server that knows no subscriptions is asked for its lists at once, and once', async () => {
    const { lists, clock, wait, requests, answerTools, methods } = byHand();
    lists.opened(tells);
    const waiting = lists.tools.items(wait);
    await flush();
    requests[0]?.fail(new ProtocolError(-32601, 'Method not found'));
    await flush();
    await answerTools(1, 'a');
    expect(namesOf(await waiting)).toEqual(['a']);
    clock.increment(60_000);
    expect(methods()).toEqual([listen, 'tools/list']);
  });

  test('the end of the channel ends the subscription, and the next one begins another [LISTS-03]', async () => {
    const { lists, wait, ended, acknowledge, methods } = byHand();
    lists.opened(tells);
    void lists.tools.items(wait).catch(() => {});
    await flush();
    acknowledge(0);
    await flush();
    lists.closed();
    expect(ended).toEqual([0, 1]);
    lists.opened(tells);
    await flush();
    expect(methods()).toEqual([listen, 'tools/list', listen]);
  });
});
