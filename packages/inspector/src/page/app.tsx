/** Root component: an overview of all sessions, and details of the selected one. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { headlineOf } from 'mcp-actors';
import type { PageConnectionDump, PageDump, PageSessionDump } from '../page-messages.ts';
import { isUrgent } from './attention.ts';
import { Charts } from './charts.tsx';
import { Detail } from './detail.tsx';
import { durationText } from './durations.ts';
import type { ShownSession } from './model.ts';
import { Panels } from './panels.tsx';
import { shortcuts } from './shortcuts.ts';
import { TimelinePanel } from './timeline.tsx';
import { elapsedOf, inOrder, shownSessionView } from './view.ts';
import type { ShownSessionView, View } from './view.ts';

const keyNames: { readonly [key: string]: string } = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
};

export function App(view: View) {
  const shown = shownSessionView(view);
  return (
    <>
      <Bar {...view} />
      <Sessions {...view} />
      {!shown && <EmptyPage {...view} />}
      {shown && (
        <>
          <Headline {...shown} />
          <main>
            <div id="passing">
              <TimelinePanel key={shown.session.id} {...shown} />
              <Detail {...shown} />
            </div>
            <div id="present" role="region" aria-label="Current state" tabIndex={0}>
              <Charts {...shown} />
              <Panels {...shown} />
              <Keys />
            </div>
          </main>
        </>
      )}
    </>
  );
}

/** Title of the browser tab: the selected session's status and peer. */
export function pageTitleOf(view: View): string {
  const shown = shownSessionView(view)?.session;
  if (!shown) return 'mcp-actors';
  const mood = shown.closed === undefined ? headlineOf(shown.dump).mood : 'closed';
  return `${mood}: ${peerNameOf(shown.dump)} · mcp-actors`;
}

/** Placeholder before the first session. */
function EmptyPage({ page, model: { endpoints } }: View) {
  if (page.value.connection !== 'live') return null;
  return (
    <main id="empty" class="panel">
      <h2>No session yet</h2>
      <p>
        {endpoints.length === 0
          ? 'A session appears here as soon as a client or server connects.'
          : 'A session appears here as soon as a client connects. Clients can connect at '}
        {endpoints.map((url) => (
          <code key={url}>{url} </code>
        ))}
      </p>
    </main>
  );
}

const connectionWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'server unreachable; showing the last known state',
  ended: 'server stopped; showing the last known state',
};

function Bar({ page, send }: View) {
  const { connection, view } = page.value;
  const isPaused = view === 'paused';
  const isOver = connection === 'lost' || connection === 'ended';
  const words =
    isPaused && !isOver
      ? `paused, ${page.context.held.length} updates queued`
      : connectionWords[connection];
  return (
    <header class="bar">
      <h1>mcp-actors</h1>
      <span
        id="connection"
        class="badge"
        role="status"
        data-connection={isPaused && !isOver ? 'paused' : connection}
      >
        {words}
      </span>
      <button
        id="pause"
        type="button"
        aria-pressed={isPaused}
        aria-keyshortcuts="p"
        onClick={() => send({ type: 'pause.toggle' })}
      >
        {isPaused ? 'Resume' : 'Pause'}
      </button>
    </header>
  );
}

/** List of sessions; hidden if there is only one. */
function Sessions(view: View) {
  const { model, send, now } = view;
  const shown = shownSessionView(view)?.session;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
  }, [shown]);
  if (model.sessions.size < 2) return null;
  const { search } = view.page.context;
  const all = inOrder(model);
  const found = all.filter((session) => isFound(session, search));
  const listed = all.filter((session) => session === shown || found.includes(session));
  const waiting = all.filter(isUrgent).length;
  return (
    <nav aria-label="Sessions and connections">
      <p class="note">
        {model.sessions.size > maxWithoutSearch && (
          <input
            id="search"
            type="search"
            aria-label="Search the list"
            placeholder="name, id, waiting, idle"
            value={search}
            onInput={({ currentTarget }) =>
              send({ type: 'sessions.search', text: currentTarget.value })
            }
          />
        )}{' '}
        <span id="found">
          {`${found.length} of ${model.sessions.size + model.omitted} ${kindsIn(model)}`}
          {waiting > 0 && `, ${waiting} waiting`}
        </span>
      </p>
      <ul id="sessions" ref={list} tabIndex={-1}>
        {listed.map((session) => {
          const { mood, ageMs = 0 } = headlineOf(session.dump);
          const isOver = session.closed !== undefined;
          const age = durationText(ageMs + elapsedOf(session, now));
          const doing = {
            waiting: `${unusableState(session.dump) ?? 'waiting'} ${age}`,
            failed: 'failed',
            working: `working ${age}`,
            idle: unusableState(session.dump) ?? 'idle',
            ended: 'ending',
          };
          return (
            <li key={session.id}>
              <button
                type="button"
                data-mood={moodOf(session)}
                aria-current={session === shown}
                title={session.id}
                onClick={() => send({ type: 'session.choose', id: session.id })}
              >
                <span class="client">{`${session.number}: ${peerNameOf(session.dump)}`}</span>{' '}
                <span class="mood ages">{isOver ? 'closed' : doing[mood]}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** Number of sessions above which the search field appears. */
const maxWithoutSearch = 12;

/** State of a connection that cannot be used now; undefined if usable. */
function unusableState(dump: PageDump): string | undefined {
  if (dump.side === 'server' || dump.state.startsWith('ready')) return undefined;
  return dump.state.split('.')[0];
}

function kindsIn({ sessions }: View['model']): string {
  const sides = new Set([...sessions.values()].map(({ dump }) => dump.side));
  if (sides.size === 2) return 'sessions and connections';
  return sides.has('host') ? 'connections' : 'sessions';
}

/**
 * True if every search word occurs in the session's number, peer name, id, status or HTTP state.
 */
function isFound({ id, number, dump, closed }: ShownSession, search: string): boolean {
  const http = dump.side === 'server' ? dump.http : undefined;
  const over = http?.kind === 'session' ? [http.id, http.state] : [unusableState(dump) ?? ''];
  const mood = closed === undefined ? headlineOf(dump).mood : 'closed';
  const text = [number, peerNameOf(dump), id, mood, ...over].join(' ').toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(word));
}

/** The client's own name, or the host's name for the server. */
function peerNameOf(dump: PageDump): string {
  if (dump.side === 'host') return dump.name;
  if (isWithoutSession(dump)) return 'requests without a session';
  return dump.client?.name ?? clientsOf(dump)[0] ?? 'client unknown';
}

/** True for a server without sessions, whose requests each identify their client. */
function isWithoutSession({ http }: PageSessionDump): boolean {
  return http?.kind === 'requests';
}

/** Clients of the running requests, as far as the requests identify them. */
function clientsOf({ calls }: PageSessionDump): readonly string[] {
  return [
    ...new Set(calls.flatMap(({ client }) => (client ? [`${client.name} ${client.version}`] : []))),
  ];
}

/** A regular end needs no attention. */
function moodOf({ dump, closed, isFailure }: ShownSession): string {
  if (closed === undefined) return headlineOf(dump).mood;
  return isFailure ? 'failed' : 'ended';
}

/** Headline of a session: its state, why it waits, and for whom. */
function Headline({ session, elapsedMs }: ShownSessionView) {
  const { dump, closed } = session;
  const why = headlineOf(dump);
  const isOver = closed !== undefined;
  const sentence = isOver
    ? `The ${dump.side === 'host' ? 'connection' : 'session'} is closed: ${closed}.`
    : why.sentence;
  const since = why.ageMs === undefined ? '' : `for ${durationText(why.ageMs + elapsedMs)}`;
  const { leftMs, ends = 'times out' } = why;
  const left = leftMs === undefined ? '' : `, ${ends} in ${durationText(leftMs - elapsedMs)}`;
  const state = isOver ? 'closed' : dump.state;
  return (
    <section id="headline" aria-label="Status" data-mood={moodOf(session)}>
      <p class="state">
        <strong id="state">{state}</strong>
      </p>
      <p class="why">
        <span id="why">{sentence}</span>{' '}
        <span id="since" class="ages">
          {isOver ? '' : since + left}
        </span>
      </p>
      <p id="facts" class="facts">
        {factsOf(session, elapsedMs).join(' · ')}
      </p>
      {/*
       * Without ages, so that screen readers announce each state once instead of every tenth of a
       * second.
       */}
      <p id="announcement" class="visually-hidden" role="status">
        {`${state}. ${sentence}`}
      </p>
    </section>
  );
}

function factsOf({ dump, closed, lastOpen }: ShownSession, elapsedMs: number): string[] {
  const { ageMs, quietMs, isUnheard } = dump;
  const who = dump.side === 'host' ? serverFacts(dump) : clientFacts(dump);
  if (closed === undefined) {
    const heard = `last message ${durationText(quietMs + elapsedMs)} ago`;
    const open = `open for ${durationText(ageMs + elapsedMs)}`;
    return [...who, open, isUnheard ? 'no message yet' : heard];
  }
  return lastOpen
    ? [...who, `was ${lastOpen.state}, open for ${durationText(lastOpen.ageMs)}`]
    : who;
}

function clientFacts(dump: PageSessionDump): string[] {
  const { client } = dump;
  if (!client) {
    const clients = clientsOf(dump);
    if (clients.length > 0) return [`requests from ${clients.join(', ')}`];
    return [isWithoutSession(dump) ? 'each request identifies its client' : 'client unknown'];
  }
  return [`${client.name} ${client.version}`, `MCP ${client.revision}`, capabilitiesOf(client)];
}

function serverFacts({ server, attempt, launches }: PageConnectionDump): string[] {
  const tries = [
    ...(attempt > 0 ? [`attempt ${attempt + 1}`] : []),
    ...(launches > 1 ? [`opened ${launches} times`] : []),
  ];
  if (!server) return ['server unknown', ...tries];
  const { name, version, era, revision } = server;
  return [`${name} ${version}`, `MCP ${revision}`, `${era} era`, capabilitiesOf(server), ...tries];
}

function capabilitiesOf({ capabilities }: { readonly capabilities: object }): string {
  const names = Object.keys(capabilities);
  return names.length > 0 ? `capabilities: ${names.join(', ')}` : 'no capabilities';
}

function Keys() {
  return (
    <footer>
      <dl class="keys">
        {shortcuts.map(
          ({ keys, what }) =>
            what !== undefined && (
              <div key={what}>
                <dt>
                  {Object.keys(keys).map((key) => (
                    <kbd key={key}>{keyNames[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{what}</dd>
              </div>
            ),
        )}
      </dl>
      <p class="note">
        Secrets are redacted and long texts truncated. Everything here stays on this machine.
      </p>
    </footer>
  );
}
