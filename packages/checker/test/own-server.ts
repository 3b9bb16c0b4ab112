/** A session of our own as the checked server, in this process, with a clock moved by the play. */
import { createMcpServer, definePrompt, defineResource, defaultLimits, memory } from 'mcp-actors';
import type { HandlerContext } from 'mcp-actors';
import type { EventObject } from 'xstate';
import { TestClock, testClient, flush } from 'mcp-actors/testing';
import type { Launch } from '../src/server-process.ts';
import { liveEnvironment } from '../../../src/server/session/session-environment.ts';
import type { SessionEnvironment } from '../../../src/server/session/session-environment.ts';
import type { PortSnapshot } from '../../../src/machines/port.ts';
import { tool } from '../../../test/contract/serving.ts';

/** Duration on the session's clock. */
const slowMs = 500;

/** Clocks by session id. One server has all sessions, so schemas are compiled once. */
const clocks = new Map<string, TestClock>();

function sleep({ signal, session }: HandlerContext): Promise<void> {
  const clock = clocks.get(session.id) as TestClock;
  return new Promise((resolve, reject) => {
    const timer = clock.setTimeout(resolve, slowMs);
    signal.addEventListener('abort', () => {
      clock.clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
}

const question = {
  messages: [{ role: 'user', content: { type: 'text', text: 'What?' } }],
  maxTokens: 10,
};

const server = createMcpServer({
  name: 'own',
  version: '1.0.0',
  tools: [
    tool('slow', async (_, context) => {
      context.progress(1);
      await sleep(context);
      context.progress(2);
      return 'done';
    }),
    tool('roots', async (_, context) => JSON.stringify((await context.roots()).roots)),
    tool('asks', async (_, context) => {
      context.log.info('asked');
      return JSON.stringify(await context.request('sampling/createMessage', question));
    }),
  ],
  resources: [defineResource({ uri: 'own://text', name: 'text', read: () => 'text' })],
  prompts: [definePrompt({ name: 'prompt', get: () => 'text' })],
  logging: {},
});

/** Loads lazily loaded modules in advance, because loading takes real time. */
export async function warm(): Promise<void> {
  const client = await testClient(server);
  await client.callTool('roots');
  await client.close();
}

/**
 * A session environment that reports when cryptographic work has finished, because it takes real
 * time.
 */
function computing() {
  const open = new Set<Promise<unknown>>();
  const noted =
    <TArgs extends unknown[], T>(compute: (...args: TArgs) => Promise<T>) =>
    (...args: TArgs): Promise<T> => {
      const result = compute(...args);
      open.add(result);
      void result.finally(() => open.delete(result));
      return result;
    };
  const environment: SessionEnvironment = {
    ...liveEnvironment,
    sealer: ({ seal, open: unseal, digest, turn: pass }) => ({
      seal: noted(seal),
      open: noted(unseal),
      digest: noted(digest),
      turn: noted(pass),
    }),
  };
  const quiet = async () => {
    await flush();
    while (open.size > 0) {
      await Promise.all(open);
      await flush();
    }
  };
  return { environment, quiet };
}

/**
 * Leftovers at the end are reported as an exit signal, so that the play is found and shrunk like
 * any other violation.
 */
export const launchOwn: Launch = (listener) => {
  const clock = new TestClock();
  const { transport, peer } = memory();
  const limits = { rootsRetryMs: 1_000, requestTimeoutMs: 4_000 };
  const { environment, quiet } = computing();
  const session = server.listen(transport, { clock, limits, environment });
  clocks.set(session.id, clock);
  const { correlation } = session.actor.getSnapshot().context;
  const { behaviour } = correlation.getSnapshot() as PortSnapshot<EventObject, unknown>;
  const pending = behaviour?.view as ReadonlyMap<unknown, unknown>;
  peer.received$.subscribe((frame) => listener.line(JSON.stringify(frame)));
  void session.closed.then(async ({ kind }) => {
    clocks.delete(session.id);
    await flush();
    const left = [
      ...(pending.size > 0 ? [`${pending.size} requests pending`] : []),
      ...(clock.liveTimers > 0 ? [`${clock.liveTimers} timers set`] : []),
      ...(kind === 'input-ended' ? [] : [`the cause ${kind}`]),
    ];
    listener.ended({
      code: left.length === 0 ? 0 : 1,
      signal: left.length === 0 ? null : left.join(', '),
    });
  });
  return {
    send: (text) => peer.sendRaw(text),
    end: () => peer.end(),
    kill: () => {
      if (!clocks.has(session.id)) return;
      session.shutdown('the play is over');
      clock.increment(defaultLimits.drainTimeoutMs);
    },
    passTime: async (durationMs) => {
      await quiet();
      clock.increment(durationMs);
      await quiet();
    },
    idle: quiet,
  };
};
