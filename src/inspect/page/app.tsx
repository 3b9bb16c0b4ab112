/** The page: what all sessions do, and everything of the one that is looked at. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import { headlineOf } from '../../diagnosis/headline.ts';
import type { PageDump } from '../page-messages.ts';
import { Charts } from './charts.tsx';
import { Detail } from './detail.tsx';
import { duration } from './durations.ts';
import type { ShownSession } from './model.ts';
import { Panels } from './panels.tsx';
import { shortcuts } from './shortcuts.ts';
import { Timeline } from './timeline.tsx';
import { elapsedOf, inOrder, sessionView } from './view.ts';
import type { SessionView, View } from './view.ts';

const keyNames: { readonly [key: string]: string } = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
};

export function App(view: View) {
  const shown = sessionView(view);
  return (
    <>
      <Bar {...view} />
      <Sessions {...view} />
      {shown && (
        <>
          <Headline {...shown} />
          <main>
            <div id="passing">
              <Timeline key={shown.session.id} {...shown} />
              <Detail {...shown} />
            </div>
            <div id="present" role="region" aria-label="What there is" tabIndex={0}>
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

const connectionWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'the server does not answer; this is what was last seen',
  ended: 'the server has ended; this is what was last seen',
};

function Bar({ page, send }: View) {
  const { connection, view } = page.value;
  const isPaused = view === 'paused';
  const isOver = connection === 'lost' || connection === 'ended';
  const words =
    isPaused && !isOver
      ? `paused, ${page.context.held.length} updates wait`
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
        {isPaused ? 'Go on' : 'Pause'}
      </button>
    </header>
  );
}

/** Not there for one session alone. */
function Sessions(view: View) {
  const { model, send, now } = view;
  const shown = sessionView(view)?.session;
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-current=true]')?.scrollIntoView({ block: 'nearest' });
  }, [shown]);
  if (model.sessions.size < 2) return null;
  const { search } = view.page.context;
  const found = inOrder(model).filter((session) => session === shown || isFound(session, search));
  return (
    <nav aria-label="Sessions">
      {model.sessions.size > maxWithoutSearch && (
        <p class="note">
          <input
            id="search"
            type="search"
            aria-label="Search for sessions"
            placeholder="client, id, waiting, idle"
            value={search}
            onInput={({ currentTarget }) =>
              send({ type: 'sessions.search', text: currentTarget.value })
            }
          />{' '}
          <span id="found">
            {`${found.length} of ${model.sessions.size + model.omitted} sessions`}
          </span>
        </p>
      )}
      <ul id="sessions" ref={list}>
        {found.map((session) => {
          const { mood, ageMs = 0 } = headlineOf(session.dump);
          const isOver = session.closed !== undefined;
          const age = duration(ageMs + elapsedOf(session, now));
          const doing = {
            waiting: `waits ${age}`,
            working: `works ${age}`,
            idle: 'idle',
            ended: 'ends',
          };
          return (
            <li key={session.id}>
              <button
                type="button"
                data-mood={isOver ? 'ended' : mood}
                aria-current={session === shown}
                title={session.id}
                onClick={() => send({ type: 'session.choose', id: session.id })}
              >
                <span class="client">{`${session.number}: ${clientOf(session.dump)}`}</span>{' '}
                <span class="mood ages">{isOver ? 'closed' : doing[mood]}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}

/** More sessions than this are searched. */
const maxWithoutSearch = 12;

/** Whether each word is in the client's name, the id, the state over HTTP or what the session does. */
function isFound({ id, number, dump, closed }: ShownSession, search: string): boolean {
  const { http } = dump;
  const over = http?.kind === 'session' ? [http.id, http.state] : [];
  const mood = closed === undefined ? headlineOf(dump).mood : 'closed';
  const text = [number, clientOf(dump), id, mood, ...over].join(' ').toLowerCase();
  const words = search.toLowerCase().split(/\s+/);
  return words.every((word) => text.includes(word));
}

function clientOf({ client }: PageDump): string {
  return client?.name ?? 'client unknown';
}

/** The first thing one sees: in which state the session is, why it waits, and for whom. */
function Headline({ session, elapsedMs }: SessionView) {
  const { dump, closed } = session;
  const why = headlineOf(dump);
  const isOver = closed !== undefined;
  const sentence = isOver ? `The session is closed: ${closed}.` : why.sentence;
  const since = why.ageMs === undefined ? '' : `${duration(why.ageMs + elapsedMs)} so far`;
  const left = why.leftMs === undefined ? '' : `, given up in ${duration(why.leftMs - elapsedMs)}`;
  const state = isOver ? 'closed' : dump.state;
  return (
    <section
      id="headline"
      aria-label="What the session does"
      data-mood={isOver ? 'ended' : why.mood}
    >
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
      {/* Said once, and not again with every tenth of a second that is waited. */}
      <p id="announcement" class="visually-hidden" role="status">
        {`${state}. ${sentence}`}
      </p>
    </section>
  );
}

function factsOf({ dump, closed, lastOpen }: ShownSession, elapsedMs: number): string[] {
  const { client, ageMs, quietMs } = dump;
  const who = client
    ? [`${client.name} ${client.version}`, `MCP ${client.revision}`, capabilitiesOf(client)]
    : ['client unknown'];
  if (closed === undefined) {
    const heard = `last heard ${duration(quietMs + elapsedMs)} ago`;
    return [...who, `open for ${duration(ageMs + elapsedMs)}`, heard];
  }
  return lastOpen ? [...who, `was ${lastOpen.state}, open for ${duration(lastOpen.ageMs)}`] : who;
}

function capabilitiesOf({ capabilities }: NonNullable<PageDump['client']>): string {
  const names = Object.keys(capabilities);
  return names.length > 0 ? `can ${names.join(', ')}` : 'declares no capability';
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
        Secrets are replaced, long texts cut. Everything here stays on this machine.
      </p>
    </footer>
  );
}
