/** Panels that list the session's current state. Empty panels are hidden. */
import type { ComponentChildren } from 'preact';
import { inWords } from 'mcp-actors/internal';
import type { PageConnectionDump, PageDump, PageSessionDump } from '../page-messages.ts';
import { isSubscription, waitOf } from './attention.ts';
import { callOf, taskOf } from './charts.tsx';
import { durationText } from './durations.ts';
import { rootsNote } from './roots-note.ts';
import { peerLine, shortenId, shortenState } from './rows.ts';
import type { ShownSessionView } from './view.ts';

export function Panels(view: ShownSessionView) {
  const { session, elapsedMs } = view;
  // An ended session has nothing pending, so show what was pending before the end.
  const dump = session.closed === undefined ? session.dump : (session.lastOpen ?? session.dump);
  const parts = { dump, elapsedMs };
  return (
    <div id="panels">
      {session.closed !== undefined && <p class="note">State before the end:</p>}
      <Pending {...parts} />
      <Calls {...parts} view={view} />
      {dump.side === 'host' ? (
        <ConnectionPanels dump={dump} elapsedMs={elapsedMs} />
      ) : (
        <>
          <Http dump={dump} elapsedMs={elapsedMs} />
          <Tasks view={view} dump={dump} elapsedMs={elapsedMs} />
        </>
      )}
      <Queues dump={dump} />
      {dump.side === 'server' && <Roots dump={dump} />}
      <Actors dump={session.dump} />
    </div>
  );
}

interface PanelProps {
  readonly id: string;
  readonly title: string;
  /** Number of entries not shown. */
  readonly omitted?: number | undefined;
  readonly note?: string;
  readonly children: ComponentChildren;
}

function Panel({ id, title, omitted = 0, note = '', children }: PanelProps) {
  const more = omitted > 0 ? `${omitted} more not shown.` : '';
  const text = [note, more].filter(Boolean).join(' ');
  return (
    <section class="panel" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <ul id={id} class="entries" aria-labelledby={`${id}-title`}>
        {children}
      </ul>
      {text !== '' && <p class="note">{text}</p>}
    </section>
  );
}

interface Timed {
  readonly dump: PageDump;
  readonly elapsedMs: number;
}

/** Panels specific to a connection: the server's lists, the last disconnect and standard error. */
function ConnectionPanels({ dump, elapsedMs }: Timed & { readonly dump: PageConnectionDump }) {
  const { lists, loss, lastWords, launches } = dump;
  const standing = dump.pending.filter(isSubscription);
  const times = launches > 1 ? `Opened ${launches} times.` : '';
  return (
    <>
      {lists.length + standing.length > 0 && (
        <Panel id="lists" title="The server's lists">
          {lists.map(({ name, entries, known, state }) => (
            <li key={name} data-known={known}>
              <strong>{name}</strong> <code>{state}</code>
              <span>{known === 'known' ? `${entries}` : `${known}, ${entries}`}</span>
            </li>
          ))}
          {standing.map(({ id, method, state, ageMs }) => (
            <li key={id}>
              <Name of={method} id={id} />
              <span class="ages">{`${state === 'held' ? 'held' : 'open'} for ${durationText(ageMs + elapsedMs)}`}</span>
            </li>
          ))}
        </Panel>
      )}
      {loss && (
        <Panel id="loss" title="Last disconnect" note={times}>
          <li>
            <code>{loss.kind}</code> <span class="why">{loss.message}</span>
          </li>
        </Panel>
      )}
      {lastWords !== undefined && (
        <Panel id="stderr" title="Standard error (last lines)">
          <li>
            <pre class="words">{lastWords}</pre>
          </li>
        </Panel>
      )}
    </>
  );
}

function Pending({ dump, elapsedMs }: Timed) {
  const { calls, omitted } = dump;
  const pending = dump.pending.filter((request) => !isSubscription(request));
  if (pending.length === 0) return null;
  const oldestFirst = [...pending].sort((a, b) => b.ageMs - a.ageMs);
  const relatedCall = ({ relatedTo, taskId }: PageDump['pending'][number]) => {
    if (relatedTo === undefined) return dump.side === 'host' ? '' : 'for the session';
    const call = calls.find((each) => each.id === relatedTo && each.taskId === taskId);
    return `for ${call?.subject ?? ''} ${shortenId(relatedTo)}`;
  };
  return (
    <Panel id="pending" title={`Waiting for the ${peerLine(dump)}`} omitted={omitted['pending']}>
      {oldestFirst.map((request) => {
        const gone = request.ageMs + elapsedMs;
        const left = Math.max(0, request.leftMs - elapsedMs);
        return (
          <li key={`${typeof request.id} ${request.id}`}>
            <Name of={request.method} id={request.id} />
            <span>{relatedCall(request)}</span>
            <span class="ages">
              {`${request.state === 'held' ? 'held for' : 'for'} ${durationText(gone)}`}
            </span>
            <span class="ages">
              <Bar value={gone} max={gone + left} label="Time elapsed" /> {durationText(left)} left
            </span>
          </li>
        );
      })}
    </Panel>
  );
}

function Calls({ dump, elapsedMs, view }: Timed & { readonly view: ShownSessionView }) {
  const { calls, omitted } = dump;
  if (calls.length === 0) return null;
  const chosen = callOf(view)?.machine?.id;
  return (
    <Panel id="calls" title={`The ${peerLine(dump)}'s requests`} omitted={omitted['calls']}>
      {calls.map((call) => {
        const { id, method, subject = '', taskId, ageMs, machine, client } = call;
        const { on, words } = waitOf(call, dump, elapsedMs);
        return (
          <li key={`${typeof id} ${id} ${taskId}`} data-waits-for={on}>
            <Name of={`${method} ${subject}`} id={id} />
            {client && <span>{`from ${client.name} ${client.version}`}</span>}
            {taskId !== undefined && <span>{`as task ${shortenId(taskId)}`}</span>}
            {machine && (
              <button
                type="button"
                title="Show in its chart"
                aria-pressed={machine.id === chosen}
                onClick={() => view.send({ type: 'call.choose', machine: machine.id })}
              >
                <code>{machine.state}</code>
              </button>
            )}
            <span class="ages">{`for ${durationText(ageMs + elapsedMs)}`}</span>
            <span class="why ages">{words}</span>
          </li>
        );
      })}
    </Panel>
  );
}

function Http({ dump, elapsedMs }: Timed & { readonly dump: PageSessionDump }) {
  const { http, omitted } = dump;
  if (!http) return null;
  const who = http.kind === 'session' ? `Session ${http.id}: ` : '';
  const waiting = http.kind === 'session' ? http.waitingPushes.count : 0;
  const pushes = waiting === 0 ? '' : ` ${waiting} messages queued for a GET stream.`;
  const note = `${who}${inWords.formatHttpState(http)}.${pushes}`;
  return (
    <Panel id="streams" title="HTTP" omitted={omitted['streams']} note={note}>
      {http.streams.map(({ kind, name, answers, state, ageMs, unreadBytes, keptEvents }) => (
        <li key={`${name} ${answers.join()}`}>
          <span class="name">{[kind.toUpperCase(), ...answers.map(shortenId)].join(' ')}</span>
          <code>{state}</code>
          <span class="ages">{`for ${durationText(ageMs + elapsedMs)}`}</span>
          {keptEvents > 0 && (
            <span>{`${keptEvents} ${keptEvents === 1 ? 'event' : 'events'} stored`}</span>
          )}
          {unreadBytes > 0 && (
            <span class="why">{`${inWords.formatBytes(unreadBytes)} unread`}</span>
          )}
        </li>
      ))}
    </Panel>
  );
}

interface TasksProps {
  readonly view: ShownSessionView;
  readonly dump: PageSessionDump;
  readonly elapsedMs: number;
}

/** Live tasks, and the number of durable tasks unloaded until they are due. */
function Tasks({ view, dump, elapsedMs }: TasksProps) {
  const { tasks, omitted, durable } = dump;
  const { givenUp = 0 } = durable ?? {};
  if (tasks.length + givenUp === 0) return null;
  const chosen = taskOf(view);
  const parts = [
    ...(durable ? [`Process id in the task store: ${durable.lease.slice(0, 8)}.`] : []),
    ...(givenUp > 0 ? [`${inWords.formatAbandoned(givenUp)}.`] : []),
  ];
  return (
    <Panel id="tasks" title="Tasks" omitted={omitted['tasks']} note={parts.join(' ')}>
      {tasks.map(({ taskId, status, statusMessage, waiters, ageMs, lastStep, ...task }) => (
        <li key={taskId}>
          <button
            type="button"
            class="id"
            title={taskId}
            aria-pressed={taskId === chosen?.taskId}
            onClick={() => view.send({ type: 'task.choose', id: taskId })}
          >
            {shortenId(taskId)}
          </button>
          <code>{status}</code>
          <span class="ages">{`for ${durationText(ageMs + elapsedMs)}`}</span>
          {lastStep !== undefined && <span>{`last step ${lastStep}`}</span>}
          <TaskWait {...task} elapsedMs={elapsedMs} />
          {waiters > 0 && <span>{`${waiters} waiting for its result`}</span>}
          {statusMessage !== undefined && <span class="why">{statusMessage}</span>}
        </li>
      ))}
    </Panel>
  );
}

/** What a resumable task waits for. */
function TaskWait({ elapsedMs, dueInMs, ...task }: TaskWaitProps) {
  const dueMs = dueInMs === undefined ? undefined : Math.max(0, dueInMs - elapsedMs);
  const words = inWords.formatWait({ ...task, dueInMs: dueMs });
  return words === undefined ? null : <span class="ages">{`waiting for ${words}`}</span>;
}

type TaskWaitProps = Pick<PageSessionDump['tasks'][number], 'questions' | 'dueInMs'> & {
  readonly elapsedMs: number;
};

const levelNames = {
  running: 'requests running',
  waiting: 'requests waiting',
  pending: 'requests to the peer',
  outboundBytes: 'unread output',
  tasks: 'tasks running',
  inFlightBytes: 'requests in flight',
  retainedBytes: 'memory kept beyond requests',
} as const;

function Queues({ dump: { queues, pending } }: { readonly dump: PageDump }) {
  const standing = pending.filter(isSubscription).length;
  const names = Object.keys(levelNames) as (keyof typeof levelNames)[];
  const used = names.flatMap((name) => {
    const level = name in queues ? (queues as PageSessionDump['queues'])[name] : undefined;
    if (!level) return [];
    const count = level.count - (name === 'pending' ? standing : 0);
    return count > 0 ? [{ name, ...level, count }] : [];
  });
  if (used.length + queues.holds.length === 0) return null;
  const note = queues.holds.length > 0 ? `No new requests start: ${queues.holds.join(', ')}.` : '';
  return (
    <Panel id="queues" title="Queues and limits" note={note}>
      {used.map(({ name, count, max }) => {
        const show = name.endsWith('Bytes') ? inWords.formatBytes : String;
        return (
          <li key={name} data-full={count >= max}>
            <span>{levelNames[name]}</span>
            <span class="ages">
              <Bar value={count} max={max} label={levelNames[name]} />{' '}
              {`${show(count)} of ${show(max)}`}
            </span>
          </li>
        );
      })}
    </Panel>
  );
}

function Roots({ dump }: { readonly dump: PageSessionDump }) {
  const { roots, omitted } = dump;
  const note = rootsNote(roots);
  if (note === undefined) return null;
  return (
    <Panel id="roots" title="Roots" omitted={omitted['roots']} note={note}>
      {roots.list.map(({ uri, name, path, problem }) => (
        <li key={`${uri} ${path}`} data-usable={problem === undefined}>
          <strong>{name ?? lastPart(uri)}</strong>
          <code>{uri}</code>
          <span class="why">
            {path ?? (problem ? `${problem.code}: ${problem.message}` : 'not resolved')}
          </span>
        </li>
      ))}
    </Panel>
  );
}

function Actors({ dump: { actors } }: { readonly dump: PageDump }) {
  if (actors.length === 0) return null;
  return (
    <Panel id="actors" title="Actors">
      {actors.map(({ id, kind, status, state }) => (
        <li key={id} data-kind={kind}>
          {id} <code title={state}>{state === undefined ? status : shortenState(state)}</code>
        </li>
      ))}
    </Panel>
  );
}

function Name({ of: name, id }: { readonly of: string; readonly id: string | number }) {
  return (
    <span class="name" title={`${name} ${id}`}>
      {name} <span class="id">{shortenId(id)}</span>
    </span>
  );
}

interface BarProps {
  readonly value: number;
  readonly max: number;
  readonly label: string;
}

function Bar({ value, max, label }: BarProps) {
  return <progress value={value} max={Math.max(max, 1)} aria-label={label} />;
}

function lastPart(uri: string): string {
  return uri.split('/').findLast((part) => part !== '') ?? uri;
}
