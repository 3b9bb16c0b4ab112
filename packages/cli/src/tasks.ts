/** `mcp-actors tasks`: what a store of durable tasks has, for people. */
import { printableLines, quoted, storedTasks } from 'mcp-actors/internal';
import { openTaskStore } from 'mcp-actors/serve';
import type { TaskStore } from 'mcp-actors';
import { UsageError, print } from './command.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

const options = {
  durable: {
    kind: 'text',
    placeholder: 'DIR|URL',
    help: 'Where the tasks are kept, as in "durable" of serve: a directory, postgres://… or redis://…',
  },
  json: { kind: 'switch', help: 'Print JSON, an object in a line for each task.' },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors tasks --durable DIR|URL [list]
       mcp-actors tasks --durable DIR|URL show ID
       mcp-actors tasks --durable DIR|URL cancel ID

Lists the durable tasks of all servers that keep them there, shows one, or cancels
one, wherever it runs: its process hears of it within seconds. A task that is parked
runs nowhere until it is due.

Options:
${optionsText(options)}

Exit status: 0; 1 if there is no such task, or it has ended already; 2 if the tasks
cannot be opened.

Examples:
  mcp-actors tasks --durable ./state
  mcp-actors tasks --durable ./state cancel 1f0c2a3b.7d0f…
`;

/** How many tasks are read at a time. */
const pageSize = 100;

export const command = commandOf(
  'mcp-actors tasks',
  { options, help },
  async ({ values, positionals }) => {
    const [what = 'list', taskId, ...more] = positionals;
    const wanted = what === 'list' ? 0 : 1;
    if (!['list', 'show', 'cancel'].includes(what)) {
      throw new UsageError(`tasks takes list, show or cancel, this is ${quoted(what)}`);
    }
    if ((taskId === undefined ? 0 : 1) + more.length !== wanted) {
      throw new UsageError(
        `tasks ${what} takes ${wanted === 0 ? 'nothing more' : 'the ID of a task'}`,
      );
    }
    if (values.durable === undefined) {
      throw new UsageError('tasks needs --durable DIR|URL: where the tasks are kept');
    }
    let store: TaskStore;
    try {
      store = await openTaskStore(values.durable);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new UsageError(`The tasks cannot be opened: ${message}`, { cause: error });
    }
    try {
      if (what === 'list') return await list(store, values.json);
      if (what === 'show') return await show(store, taskId ?? '', values.json);
      return await cancel(store, taskId ?? '');
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      const message = 'The tasks are sealed: their server has stateKeys, and only it can read them';
      throw new UsageError(message, { cause: error });
    } finally {
      await store.close();
    }
  },
);

async function list(store: TaskStore, asJson: boolean): Promise<number> {
  let after: string | undefined = undefined;
  let count = 0;
  for (;;) {
    const page = await store.list({ after, max: pageSize });
    for (const found of page) {
      const task = storedTasks.taskOverview(found);
      await print(process.stdout, asJson ? `${JSON.stringify(task)}\n` : `${inOneLine(task)}\n`);
    }
    count += page.length;
    if (page.length < pageSize) break;
    after = page.at(-1)?.record.taskId;
  }
  if (count === 0 && !asJson) await print(process.stdout, 'There are no tasks.\n');
  return 0;
}

async function show(store: TaskStore, taskId: string, asJson: boolean): Promise<number> {
  const found = await store.read(taskId);
  if (!found) return await missing(taskId);
  const task = storedTasks.taskOverview(found);
  const rows = Object.entries(task).filter(([, value]) => value !== undefined);
  const lines = rows.map(([name, value]) => `${name}: ${printableLines([String(value)])}\n`);
  await print(process.stdout, asJson ? `${JSON.stringify(task)}\n` : lines.join(''));
  return 0;
}

async function cancel(store: TaskStore, taskId: string): Promise<number> {
  const became = await storedTasks.cancelTask(store, taskId);
  if (became === undefined) return await missing(taskId);
  if (became === 'written') {
    await print(process.stdout, `The task ${taskId} is cancelled.\n`);
    return 0;
  }
  await print(process.stderr, `The task ${taskId} has ended already.\n`);
  return 1;
}

async function missing(taskId: string): Promise<number> {
  await print(process.stderr, `There is no task ${quoted(taskId)}, or its time to live is over.\n`);
  return 1;
}

function inOneLine(task: storedTasks.TaskOverview): string {
  const { taskId, status, tool, server, owner, lastStep, waitsFor, createdAt } = task;
  const age = Math.max(0, Math.round((Date.now() - Date.parse(createdAt)) / 1000));
  const parts = [
    `${taskId}  ${status}`,
    tool === undefined ? server : `${server}/${tool}`,
    `${age} s old`,
    owner === undefined ? undefined : `at ${owner.slice(0, 8)}`,
    lastStep === undefined ? undefined : `last ${lastStep}`,
    waitsFor === undefined ? undefined : `waits for ${waitsFor}`,
  ];
  return printableLines([parts.filter((part) => part !== undefined).join('  ')]);
}
