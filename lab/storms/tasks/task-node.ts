/**
 * Node of a storm of tasks: a stdio server whose tasks are in a shared store. Each store write, run
 * and effect is a line on stderr, with the machine's monotonic time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { HandlerContext, TaskStore } from 'mcp-actors';
import { postgresTaskStore } from 'mcp-actors/postgres';
import { redisTaskStore } from 'mcp-actors/redis';
import { serve } from 'mcp-actors/serve';
import { sqliteTaskStore } from '../../../packages/tasks/src/sqlite/sqlite-task-store.ts';
import { setClockOff } from '../clock-offset.ts';
import type { TaskLine } from './task-history.ts';

const { STORE: where = '', LEASE_MS: lease = '', CLOCK_OFFSET_MS: offset = '0' } = process.env;
setClockOff(Number(offset));

/** Monotonic time independent of clock settings, ms. */
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000;

const tell = (line: TaskLine) => process.stderr.write(`${JSON.stringify({ storm: line })}\n`);

async function open(): Promise<TaskStore> {
  const leaseMs = Number(lease);
  const given = { url: where, leaseMs, commandTimeoutMs: 1000 };
  if (where.startsWith('postgres:')) return postgresTaskStore(given);
  if (where.startsWith('redis:')) return redisTaskStore(given);
  return sqliteTaskStore(where, { leaseMs });
}

/** Reports the outcome of each write with the times of request and response. */
function told(store: TaskStore): TaskStore {
  const { create, append, appendWith, finish, claim } = store;
  const writing = async <T>(line: Partial<TaskLine>, write: () => Promise<T>): Promise<T> => {
    const from = now();
    const result = await write();
    const became = typeof result === 'string' ? { became: result } : {};
    tell({ ...line, ...became, from, to: now() } as TaskLine);
    return result;
  };
  const claimOf = (given: { readonly taskId: string; readonly fence?: number }) => ({
    taskId: given.taskId,
    fence: given.fence,
  });
  return Object.assign(store, {
    create: (...[task]: Parameters<typeof create>) =>
      writing({ op: 'grant', taskId: task.taskId, fence: 1 }, () => create.call(store, task)),
    append: (...[given, progress]: Parameters<typeof append>) => {
      const keys = progress.steps.map(({ key }) => key);
      const parks = progress.parkForMs === undefined ? {} : ({ parks: true } as const);
      return writing({ op: 'append', ...claimOf(given), keys, ...parks }, () =>
        append.call(store, given, progress),
      );
    },
    ...(appendWith && {
      appendWith: (...[given, key, make]: Parameters<typeof appendWith>) =>
        writing({ op: 'append', ...claimOf(given), keys: [key] }, () =>
          appendWith.call(store, given, key, make),
        ),
    }),
    finish: (...[given, text]: Parameters<typeof finish>) =>
      writing({ op: 'finish', ...claimOf(given) }, () => finish.call(store, given, text)),
    claim: async (...[request]: Parameters<typeof claim>) => {
      const from = now();
      const claimed = await claim.call(store, request);
      const to = now();
      for (const { taskId, fence } of claimed.tasks) tell({ op: 'grant', taskId, fence, from, to });
      return claimed;
    },
  });
}

/**
 * Executes steps in order. The first run that reaches `held` keeps writing there; only a later one
 * continues.
 */
async function follow(
  plan: readonly string[],
  { once, sleep, elicit, task, signal }: HandlerContext,
): Promise<string> {
  const taskId = task?.taskId ?? '';
  const said: string[] = [];
  for (const [at, step] of plan.entries()) {
    const key = `${step} ${at}`;
    if (step === 'sleep') await sleep(100);
    if (step === 'nap') await sleep(600);
    if (step === 'ask') {
      const answer = await elicit({
        message: key,
        schema: { type: 'object', properties: { say: { type: 'string' } }, required: ['say'] },
      });
      said.push(answer.action === 'accept' ? String(answer.content.say) : answer.action);
    }
    if (step === 'held') {
      let isFirst = false;
      await once(key, () => {
        isFirst = true;
        return key;
      });
      for (let n = 0; isFirst; n++) {
        await delay(50, undefined, { signal });
        await once(`${key} ${n}`, () => n);
      }
    }
    if (step !== 'once') continue;
    const value = await once(key, async ({ sql }) => {
      const made = crypto.randomUUID();
      if (sql) await sql.query('INSERT INTO effects VALUES ($1, $2)', [taskId, key]);
      tell({ op: 'effect', taskId, keys: [`once:${key}`], from: now(), to: now() });
      return made;
    });
    said.push(value);
  }
  return said.join(' ');
}

// Not in the middle of a write.
process.on('SIGUSR2', () => process.kill(process.pid, 'SIGSTOP'));

const work = defineTool({
  name: 'work',
  description: 'Does what its plan says',
  taskSupport: 'required',
  durable: true,
  inputSchema: {
    type: 'object',
    properties: { plan: { type: 'array', items: { type: 'string' } } },
    required: ['plan'],
  },
  handler: async ({ plan }, context) => {
    const { task, signal } = context;
    const taskId = task?.taskId ?? '';
    const begun = now();
    tell({ op: 'run', taskId, from: begun, to: begun });
    signal.addEventListener('abort', () => tell({ op: 'signal', taskId, from: begun, to: now() }));
    try {
      return await follow(plan, context);
    } finally {
      tell({ op: 'ran', taskId, from: begun, to: now() });
    }
  },
});

const server = createMcpServer({ name: 'storm', version: '1.0.0', tools: [work] });

// Long waits are unloaded soon, and a task may lose its process any number of times.
const limits = { taskParkMs: 300, maxRestarts: 1000 };
await serve(server, { durable: told(await open()), limits });
