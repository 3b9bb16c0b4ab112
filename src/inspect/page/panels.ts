/**
 * The panels that list what there is at present: pending requests, calls, queues, actors, roots,
 * tasks.
 */
import type { CallDump, PendingDump, SessionDump } from '../../diagnosis/session-dump.ts';
import type { PageDump } from '../page-messages.ts';
import { KeyedList, byId, element, setAttribute, setText, shortId } from './dom.ts';
import { bytes, duration } from './durations.ts';

type Root = SessionDump['roots']['list'][number];
type Task = SessionDump['tasks'][number];

export class Panels {
  readonly #chooseTask: (taskId: string) => void;
  #elapsedMs = 0;
  #task: string | undefined;

  constructor(chooseTask: (taskId: string) => void) {
    this.#chooseTask = chooseTask;
  }

  /** @param task the one that is chosen */
  show(dump: PageDump, elapsedMs: number, task: string | undefined): void {
    this.#elapsedMs = elapsedMs;
    this.#task = task;
    const { omitted } = dump;
    this.#pending.show([...dump.pending].sort((a, b) => b.ageMs - a.ageMs));
    note('pending', dump.pending.length, 'The client owes no answer.', omitted);
    this.#calls.show(dump.calls);
    note('calls', dump.calls.length, 'No request of the client is open.', omitted);
    this.#levels.show(Object.entries(dump.queues).flatMap(([name, level]) => levelOf(name, level)));
    const { holds } = dump.queues;
    setText(byId('holds'), holds.length > 0 ? `No request is started: ${holds.join(', ')}.` : '');
    this.#actors.show(treeOf(dump));
    setText(byId('provenance'), provenance(dump));
    this.#roots.show(dump.roots.list);
    this.#tasks.show(dump.tasks);
    note('tasks', dump.tasks.length, 'There is no task.', omitted);
  }

  readonly #pending = new KeyedList<PendingDump>(
    byId('pending'),
    ({ id }) => `${typeof id} ${id}`,
    ({ id, method, relatedTo }) => {
      const [age, left] = [element('td', { class: 'ages' }), element('span')];
      const bar = element('progress', { max: '1', 'aria-label': `Time gone for request ${id}` });
      const whose = relatedTo === undefined ? 'the session' : shortId(relatedTo);
      const row = element(
        'tr',
        {},
        element('td', {}, method),
        element('td', {}, shortId(id)),
        element('td', {}, whose),
        age,
        element('td', { class: 'ages' }, bar, left),
      );
      return {
        element: row,
        update: ({ ageMs, leftMs }) => {
          const [gone, rest] = [ageMs + this.#elapsedMs, Math.max(0, leftMs - this.#elapsedMs)];
          setText(age, duration(gone));
          setText(left, duration(rest));
          bar.value = gone / (gone + rest);
        },
      };
    },
  );

  readonly #calls = new KeyedList<CallDump>(
    byId('calls'),
    ({ id, taskId }) => `${typeof id} ${id} ${taskId}`,
    ({ id, method, subject, taskId }) => {
      const [state, age, asks] = [
        element('td'),
        element('td', { class: 'ages' }),
        element('td', { class: 'ages' }),
      ];
      const name = subject === undefined ? method : `${method} ${subject}`;
      const row = element(
        'tr',
        {},
        element('td', {}, taskId === undefined ? name : `${name} (task)`),
        element('td', {}, shortId(id)),
        state,
        age,
        asks,
      );
      return {
        element: row,
        update: ({ state: now, ageMs, openQuestions }) => {
          setText(state, now === 'parked' ? 'waits for its answers' : now);
          setText(age, duration(ageMs + this.#elapsedMs));
          setText(asks, openQuestions === 0 ? '' : `${openQuestions}`);
        },
      };
    },
  );

  readonly #levels = new KeyedList<ShownLevel>(
    byId('levels'),
    ({ name }) => name,
    ({ name }) => {
      const [text, bar] = [
        element('span', { class: 'ages' }),
        element('progress', { 'aria-label': name }),
      ];
      const row = element('div', {}, element('dt', {}, name), element('dd', {}, bar, text));
      return {
        element: row,
        update: ({ count, max, show }) => {
          bar.max = max;
          bar.value = count;
          setText(text, `${show(count)} of ${show(max)}`);
          setAttribute(row, 'data-full', String(count >= max));
        },
      };
    },
  );

  readonly #actors = new KeyedList<TreeNode>(
    byId('tree'),
    ({ key }) => key,
    ({ depth }) => {
      const [name, state] = [element('span'), element('code')];
      const item = element('li', { class: `depth-${depth}` }, name, ' ', state);
      return {
        element: item,
        update: (node) => {
          setText(name, node.name);
          setText(state, node.state);
          setAttribute(item, 'data-kind', node.kind);
        },
      };
    },
  );

  readonly #roots = new KeyedList<Root>(
    byId('root-list'),
    ({ uri, path }) => `${uri} ${path}`,
    ({ uri, name, path, problem }) => {
      const where = path ?? (problem ? `${problem.code}: ${problem.message}` : 'not resolved');
      const item = element(
        'li',
        { 'data-usable': String(problem === undefined) },
        element('strong', {}, name ?? lastPart(uri)),
        element('code', {}, uri),
        element('span', {}, where),
      );
      return { element: item, update: () => {} };
    },
  );

  readonly #tasks = new KeyedList<Task>(
    byId('task-list'),
    ({ taskId }) => taskId,
    ({ taskId }) => {
      const [status, message, waiters] = [element('code'), element('span'), element('span')];
      const button = element(
        'button',
        { type: 'button' },
        element('span', { class: 'id' }, taskId.slice(0, 8)),
        status,
        message,
        waiters,
      );
      button.addEventListener('click', () => this.#chooseTask(taskId));
      return {
        element: element('li', {}, button),
        update: (task) => {
          setText(status, task.status);
          setText(message, task.statusMessage ?? '');
          setText(waiters, task.waiters > 0 ? `${task.waiters} wait for its result` : '');
          setAttribute(button, 'aria-pressed', String(task.taskId === this.#task));
        },
      };
    },
  );
}

interface ShownLevel {
  readonly name: string;
  readonly count: number;
  readonly max: number;
  show(count: number): string;
}

const levelNames: { readonly [queue: string]: string } = {
  running: 'requests running',
  waiting: 'requests waiting',
  pending: 'we wait for answers',
  outboundBytes: 'output not read',
  tasks: 'tasks running',
};

function levelOf(queue: string, level: PageDump['queues'][keyof PageDump['queues']]): ShownLevel[] {
  if (!('count' in level)) return [];
  const show = queue === 'outboundBytes' ? bytes : String;
  return [{ name: levelNames[queue] ?? queue, count: level.count, max: level.max, show }];
}

interface TreeNode {
  readonly key: string;
  readonly name: string;
  readonly state: string;
  readonly kind: 'machine' | 'actor' | 'record';
  readonly depth: 0 | 1 | 2;
}

/** Below one actor, records that are shown one by one. */
const maxRecords = 12;

/** The session's actors, and below those that hold records what they hold. */
function treeOf(dump: PageDump): TreeNode[] {
  const { state, actors, calls, pending, tasks, queues } = dump;
  const records: { readonly [actor: string]: readonly Omit<TreeNode, 'depth' | 'kind'>[] } = {
    router: calls.map(({ id, method, subject = '', state: now }) => ({
      key: `call ${typeof id} ${id}`,
      name: `${method} ${subject}`.trim(),
      state: `${shortText(id)} ${now}`,
    })),
    correlation: pending.map(({ id, method }) => ({
      key: `pending ${typeof id} ${id}`,
      name: method,
      state: shortText(id),
    })),
    roots: dump.roots.tags.includes('asking')
      ? [{ key: 'ask', name: 'ask', state: 'roots/list in flight' }]
      : [],
    writer:
      queues.outboundBytes.count > 0
        ? [{ key: 'queue', name: 'queue', state: bytes(queues.outboundBytes.count) }]
        : [],
  };
  const nodes: TreeNode[] = [{ key: 'session', name: 'session', state, kind: 'machine', depth: 0 }];
  for (const { id, kind, status, state: now } of actors) {
    nodes.push({ key: `actor ${id}`, name: id, state: now ?? status, kind, depth: 1 });
    nodes.push(...bounded(id, records[id] ?? []));
  }
  if (tasks.length > 0) {
    nodes.push({ key: 'tasks', name: 'tasks', state: '', kind: 'actor', depth: 1 });
    const machines = tasks.map(({ taskId, status }) => ({
      key: `task ${taskId}`,
      name: taskId.slice(0, 8),
      state: status,
    }));
    nodes.push(...bounded('tasks', machines, 'machine'));
  }
  return nodes;
}

function bounded(
  actor: string,
  records: readonly Omit<TreeNode, 'depth' | 'kind'>[],
  kind: TreeNode['kind'] = 'record',
): TreeNode[] {
  const shown = records.slice(0, maxRecords).map((each) => ({ ...each, kind, depth: 2 as const }));
  const rest = records.length - shown.length;
  const more = { key: `${actor} more`, name: `${rest} more`, state: '', kind, depth: 2 as const };
  return rest > 0 ? [...shown, more] : shown;
}

function provenance({ roots }: PageDump): string {
  const { tags, status, settled, generation, problem, list } = roots;
  const sources: { readonly [status: string]: string } = {
    known: 'From the client',
    undeclared: 'The client has no roots capability',
    unsupported: 'The client declares roots and does not answer for them',
    failed: 'The client could not be asked; what was known before holds',
  };
  if (status === undefined) {
    return tags.includes('asking') ? 'Asked for, not answered yet.' : 'Not asked for yet.';
  }
  const newer = settled ? '' : '; a newer list is being asked for';
  const why = problem === undefined ? '' : `: ${problem}`;
  const none = list.length === 0 && status === 'known' ? '; the list is empty' : '';
  return `${sources[status]}${why}${none}${newer}. Generation ${generation}.`;
}

function note(id: string, shown: number, none: string, omitted: PageDump['omitted']): void {
  const more = omitted[id] ?? 0;
  setText(byId(`${id}-note`), shown === 0 ? none : more > 0 ? `${more} more are not shown.` : '');
}

function shortText(id: string | number): string {
  return shortId(id).textContent ?? '';
}

function lastPart(uri: string): string {
  return uri.split('/').findLast((part) => part !== '') ?? uri;
}
