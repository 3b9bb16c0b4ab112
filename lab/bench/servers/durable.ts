/**
 * A server with stored tasks and direct access to the store, in one process: its tools operate
 * either.
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { TaskStore } from 'mcp-actors';
import { openTaskStore, serve } from 'mcp-actors/serve';

const { DURABLE: where } = process.env;
const store = where === undefined ? undefined : await openTaskStore(where);

let writes = 0;

/** Counts writes to the store. */
function counted(given: TaskStore): TaskStore {
  const { create, append, appendWith, finish } = given;
  return Object.assign(given, {
    create: (...args: Parameters<typeof create>) => (writes++, create.apply(given, args)),
    append: (...args: Parameters<typeof append>) => (writes++, append.apply(given, args)),
    ...(appendWith && {
      appendWith: (...args: Parameters<typeof appendWith>) => (
        writes++,
        appendWith.apply(given, args)
      ),
    }),
    finish: (...args: Parameters<typeof finish>) => (writes++, finish.apply(given, args)),
  });
}

/** Claimed tasks belong to another server, which does not exist as a process. */
const claimed = 'claimed';
const claimedAtOnce = 10;
const ttlMs = 3_600_000;

function opened(): TaskStore {
  if (!store) throw new Error('there is no store');
  return store;
}

const text = { type: 'object', properties: { text: { type: 'string' } } } as const;
const count = {
  type: 'object',
  properties: { count: { type: 'integer', minimum: 0 } },
  required: ['count'],
} as const;

const tools = [
  defineTool({
    name: 'echo',
    description: 'Gives the text back.',
    inputSchema: { ...text, required: ['text'] },
    handler: async ({ text: given }) => given,
  }),
  defineTool({
    name: 'say',
    description: 'Gives the text back, as a task that ends with its process.',
    taskSupport: 'required',
    inputSchema: { ...text, required: ['text'] },
    handler: async ({ text: given }) => given,
  }),
  defineTool({
    name: 'keep',
    description: 'Gives the text back, as a task that goes on from a step.',
    taskSupport: 'required',
    durable: true,
    inputSchema: { ...text, required: ['text'] },
    handler: async ({ text: given }, { once }) => once('said', () => given),
  }),
  defineTool({
    name: 'wait',
    description: 'Waits for an hour.',
    taskSupport: 'required',
    durable: true,
    inputSchema: { ...text, required: ['text'] },
    handler: async ({ text: given }, { sleep }) => {
      await sleep(3_600_000);
      return given;
    },
  }),
  defineTool({
    name: 'writes',
    description: 'How often something of a task was written so far.',
    handler: async () => String(writes),
  }),
  defineTool({
    name: 'seed',
    description: 'Writes so many tasks down that are due.',
    inputSchema: count,
    handler: async ({ count: wanted }) => {
      const owner = crypto.randomUUID();
      for (let done = 0; done < wanted; done += claimedAtOnce) {
        const few = Array.from({ length: Math.min(claimedAtOnce, wanted - done) });
        await Promise.all(
          few.map(async () => {
            const taskId = crypto.randomUUID();
            const task = { taskId, server: claimed, owner, text: '{}', ttlMs };
            const claim = await opened().create(task);
            await opened().append(claim, { steps: [], parkForMs: 0 });
          }),
        );
      }
      return String(wanted);
    },
  }),
  defineTool({
    name: 'claim',
    description: 'Claims what is due and ends it. Gives how many it had; 0 if nothing is left.',
    inputSchema: count,
    handler: async ({ count: wanted }) => {
      const owner = crypto.randomUUID();
      await opened().lease(owner);
      let had = 0;
      for (;;) {
        const { tasks } = await opened().claim({ owner, server: claimed, max: claimedAtOnce });
        if (tasks.length === 0) return String(had);
        await Promise.all(tasks.map((task) => opened().finish(task, '{}')));
        had += tasks.length;
        if (had >= wanted) return String(had);
      }
    },
  }),
];

const server = createMcpServer({ name: 'durable', version: '0.0.0', tools });

const limits = { maxTasks: 1000, maxKeptTasks: 1_000_000, maxPending: 1000 };
await serve(server, store ? { durable: counted(store), limits } : { limits });
