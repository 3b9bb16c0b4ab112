/** `mcp-actors tasks`: shows and cancels the tasks of a durable store. */
import { inWords, printableLines, quoted, storedTasks } from 'mcp-actors/internal';
import { openTaskStore } from 'mcp-actors/serve';
import type { TaskStore } from 'mcp-actors';
import { UsageError, print } from './command.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';

type StoredTasks = storedTasks.StoredTasks;
type TaskOverview = storedTasks.TaskOverview;

/** Environment variable with the servers' sealing keys. */
const keysVariable = 'MCP_STATE_KEYS';

const options = {
  durable: {
    kind: 'text',
    placeholder: 'DIR|URL',
    help: 'Store of the tasks, as in "durable" of serve: a directory, postgres://… or redis://…',
  },
  json: { kind: 'switch', help: 'Print JSON, one object per line and task.' },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors tasks --durable DIR|URL [list]
       mcp-actors tasks --durable DIR|URL show ID
       mcp-actors tasks --durable DIR|URL cancel ID

Lists the durable tasks and calls of all servers that use this store, shows one, or
cancels one, wherever it runs: its process is notified within seconds. A parked task
does not run until it is due.

A server with stateKeys seals its tasks. Set ${keysVariable} to the same keys,
separated by commas. Without them, only ids, servers, processes and step names are shown.

Options:
${optionsText(options)}

Exit status: 0 on success; 1 if the task does not exist or has already ended; 2 if the
store cannot be opened or the task to cancel is sealed.

Examples:
  mcp-actors tasks --durable ./state
  mcp-actors tasks --durable ./state cancel 1f0c2a3b.7d0f…
`;

/** Page size of reading tasks. */
const pageSize = 100;

export const command = commandOf(
  'mcp-actors tasks',
  { options, help },
  async ({ values, positionals }) => {
    const [what = 'list', taskId, ...more] = positionals;
    const wanted = what === 'list' ? 0 : 1;
    if (!['list', 'show', 'cancel'].includes(what)) {
      throw new UsageError(`tasks must be followed by list, show or cancel, got ${quoted(what)}`);
    }
    if ((taskId === undefined ? 0 : 1) + more.length !== wanted) {
      throw new UsageError(
        `tasks ${what} takes ${wanted === 0 ? 'no further arguments' : 'the ID of a task'}`,
      );
    }
    if (values.durable === undefined) {
      throw new UsageError('tasks needs --durable DIR|URL, the store of the tasks');
    }
    let store: TaskStore;
    try {
      // Allow a directory of another user, because nothing is executed here.
      store = await openTaskStore(values.durable, { insecure: true });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new UsageError(`The store cannot be opened: ${message}`, { cause: error });
    }
    try {
      const tasks = storedTasksOf(store);
      if (what === 'list') return await list(tasks, values.json);
      if (what === 'show') return await show(tasks, taskId ?? '', values.json);
      return await cancel(tasks, taskId ?? '');
    } finally {
      await store.close();
    }
  },
);

/** @throws {UsageError} if a key in the environment is invalid */
function storedTasksOf(store: TaskStore): StoredTasks {
  try {
    return new storedTasks.StoredTasks(store);
  } catch (error) {
    const message = `${keysVariable}: ${error instanceof Error ? error.message : String(error)}`;
    throw new UsageError(message, { cause: error });
  }
}

/** Explanation for tasks that cannot be opened. */
const whyNoTasks = `sealed: set ${keysVariable} to the stateKeys of their server`;

async function list(tasks: StoredTasks, asJson: boolean): Promise<number> {
  let after: string | undefined = undefined;
  let count = 0;
  let sealed = 0;
  for (;;) {
    const page = await tasks.list({ after, max: pageSize });
    for (const task of page) {
      if (task.status === 'sealed') sealed++;
      await print(process.stdout, asJson ? jsonOf(task) : `${inOneLine(task)}\n`);
    }
    count += page.length;
    if (page.length < pageSize) break;
    after = page.at(-1)?.taskId;
  }
  if (count === 0 && !asJson) await print(process.stdout, 'No tasks.\n');
  if (sealed > 0) await print(process.stderr, `${sealed} of ${count} are ${whyNoTasks}.\n`);
  return 0;
}

async function show(tasks: StoredTasks, taskId: string, asJson: boolean): Promise<number> {
  const task = await tasks.show(taskId);
  if (!task) return await missing(taskId);
  const { kind, server, tool, status, statusMessage, owner, restarts, steps, lastStep } = task;
  const shown = {
    ...{ taskId, kind, server, tool, status, statusMessage, owner, restarts, steps, lastStep },
    waitsFor: waitOf(task),
    age: task.ageMs === undefined ? undefined : inWords.formatDuration(task.ageMs),
    keptFor: inWords.formatDuration(task.ttlMs),
  };
  const lines = Object.entries(shown)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${printableLines([String(value)])}\n`);
  await print(process.stdout, asJson ? jsonOf(task) : lines.join(''));
  if (task.status === 'sealed') await print(process.stderr, `The task is ${whyNoTasks}.\n`);
  return 0;
}

async function cancel(tasks: StoredTasks, taskId: string): Promise<number> {
  const became = await tasks.cancel(taskId);
  if (became === undefined) return await missing(taskId);
  if (became === 'sealed') throw new UsageError(`The task is ${whyNoTasks}`);
  if (became === 'written') {
    await print(process.stdout, `The task ${taskId} was cancelled.\n`);
    return 0;
  }
  await print(process.stderr, `The task ${taskId} has already ended.\n`);
  return 1;
}

async function missing(taskId: string): Promise<number> {
  await print(process.stderr, `Unknown or expired task ${quoted(taskId)}.\n`);
  return 1;
}

function waitOf(task: TaskOverview): string | undefined {
  if (task.isLeft && task.questions.length === 0) return 'a process to resume it';
  return inWords.formatWait(task);
}

const jsonOf = (task: TaskOverview) => `${JSON.stringify({ ...task, waitsFor: waitOf(task) })}\n`;

function inOneLine(task: TaskOverview): string {
  const { taskId, kind, status, tool, server, owner, lastStep, ageMs, restarts } = task;
  const waitsFor = waitOf(task);
  const parts = [
    `${kind === 'call' ? 'call  ' : ''}${taskId}  ${status}`,
    tool === undefined ? server : `${server}/${tool}`,
    ageMs === undefined ? undefined : `${inWords.formatDuration(ageMs)} old`,
    owner === undefined ? undefined : `at ${owner.slice(0, 8)}`,
    restarts === 0 ? undefined : `${restarts} restarts`,
    lastStep === undefined ? undefined : `last ${lastStep}`,
    waitsFor === undefined ? undefined : `waits for ${waitsFor}`,
  ];
  return printableLines([parts.filter((part) => part !== undefined).join('  ')]);
}
