import { describe, expect, test } from 'vitest';
import type { Call } from '../../src/actors/router/call.ts';
import type { BackgroundRun, RequestHandler } from '../../src/actors/request-context.ts';
import type { OutboundResponse } from '../../src/protocol/frames.ts';
import { request, startRouter } from './start-router.ts';
import { settled } from './fakes.ts';

/** A background run without observers. */
const silent: BackgroundRun = {
  taskId: 't',
  onResponse: () => {},
  relatedRequest: () => undefined,
  onStatusMessage: () => {},
  onInputRequested: () => {},
  onInputReceived: () => {},

  polled: {
    ask: () => Promise.reject(new Error('it is sent its questions')),
    end: () => {},
    roots: () => Promise.reject(new Error('it is sent its questions')),
    openQuestions: 0,
  },
};

describe('a background run', () => {
  /** Answers at once and continues with `work` in a background run. */
  function outliving(work: RequestHandler) {
    const responses: OutboundResponse[] = [];
    const runs: Call[] = [];
    const cancels: ((reason: Error) => void)[] = [];
    const handler: RequestHandler = (_, call) => {
      const begin: RequestHandler = (params, run) => {
        runs.push(run as Call);
        return work(params, run);
      };
      cancels.push(
        call.detach(begin, { ...silent, onResponse: (one) => void responses.push(one) }),
      );
      return { accepted: true };
    };
    return { handler, responses, runs, cancels };
  }
  const accepted = (id: number) => ({ jsonrpc: '2.0', id, result: { accepted: true } });
  const pending = () => new Promise(() => {});

  test('starts after its request is answered, and sends its response to its own recipient', () => {
    const before: number[] = [];
    const { handler, responses } = outliving(() => {
      before.push(router.sent().length);
      return { done: true };
    });
    const router = startRouter({ m: handler });
    router.receive(request(1));
    expect(router.sent()).toEqual([accepted(1)]);
    expect(before).toEqual([1]);
    expect(responses).toEqual([{ jsonrpc: '2.0', id: 1, result: { done: true } }]);
  });

  test('counts towards no concurrency limit, and frees its id', () => {
    const { handler, runs } = outliving(pending);
    const { receive, sent } = startRouter({ m: handler });
    for (let i = 0; i < 10; i++) receive(request(1));
    expect(sent()).toEqual(Array.from({ length: 10 }, () => accepted(1)));
    expect(runs.map(({ state }) => state)).toEqual(Array.from({ length: 10 }, () => 'running'));
  });

  test('is cancelled by its starter, not with its request, and then sends no response', () => {
    const { handler, responses, runs, cancels } = outliving(pending);
    const { receive } = startRouter({ m: handler });
    receive(request(1));
    receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    expect(runs[0]?.state).toBe('running');
    const { signal } = runs[0] as Call;
    cancels[0]?.(new Error('enough'));
    cancels[0]?.(new Error('again'));
    expect([signal.aborted, String(signal.reason), responses]).toEqual([true, 'Error: enough', []]);
  });

  test('never runs if cancelled before it starts', () => {
    let ran = 0;
    const handler: RequestHandler = (_, call) => {
      call.detach(() => ({ ran: ++ran }), silent)(new Error('at once'));
      return {};
    };
    startRouter({ m: handler }).receive(request(1));
    expect(ran).toBe(0);
  });

  test('delays draining until it has settled, even if cancelled', async () => {
    let finish = () => {};
    const { handler, cancels } = outliving(
      () => new Promise((resolve) => (finish = () => resolve({}))),
    );
    const { receive, tell, told } = startRouter({ m: handler });
    receive(request(1));
    tell({ type: 'gate.closed' });
    cancels[0]?.(new Error('enough'));
    await settled();
    expect(told()).toEqual(['calls.running']);
    finish();
    await settled();
    expect(told()).toEqual(['calls.running', 'calls.drained']);
  });

  test('is aborted at the end of the session, with a response', () => {
    const { handler, responses, runs } = outliving(pending);
    const { receive, tell } = startRouter({ m: handler });
    receive(request(1));
    const { signal } = runs[0] as Call;
    tell({ type: 'calls.abandon' });
    expect(signal.aborted).toBe(true);
    expect(responses).toMatchObject([{ id: 1, error: { code: -32000 } }]);
  });

  test('can be cancelled by the recipient of its response without affecting others', () => {
    const { handler, cancels, responses } = outliving(() => ({}));
    const add = responses.push.bind(responses);
    responses.push = (response) => {
      cancels.at(-1)?.(new Error('done with it'));
      return add(response);
    };
    const { receive, sent } = startRouter({ m: handler });
    receive(request(1), request(2), request(3));
    receive(request(4));
    expect(sent()).toEqual([1, 2, 3, 4].map(accepted));
  });
});
