/** Detail panel of the selected event: its frame, cause and effects. */
import type { ComponentChildren } from 'preact';
import type { FrameEvent, PageEvent, TransitionEvent } from '../page-messages.ts';
import { durationText, timeOfDay } from './durations.ts';
import { answerTo, causedBy, eventOf } from './model.ts';
import { isFault, nameOf, peerLine, titleOf } from './rows.ts';
import { choose } from './timeline.tsx';
import type { ShownSessionView } from './view.ts';

/** Hidden if no event is selected. */
export function Detail(view: ShownSessionView) {
  const { event } = view.page.context;
  if (!event) return null;
  return (
    <section id="event" class="panel" aria-label="Event" tabIndex={0}>
      <header>
        <h2 class={isFault(event) ? 'fault' : ''}>{nameOf(event)}</h2>
        <button type="button" aria-label="Close" onClick={() => choose(view, undefined)}>
          ✕
        </button>
      </header>
      {event.kind === 'frame' ? (
        <FrameDetail view={view} event={event} />
      ) : (
        <TransitionDetail view={view} event={event} />
      )}
    </section>
  );
}

interface DetailProps<T extends PageEvent> {
  readonly view: ShownSessionView;
  readonly event: T;
}

function FrameDetail({ view, event }: DetailProps<FrameEvent>) {
  const { session } = view;
  const { direction, what, id, at, seq, problem, frame } = event;
  const request = eventOf(session, event.answers);
  const answer = answerTo(session, seq);
  return (
    <>
      <dl class="facts-list">
        <Fact name="direction">{`${direction === 'in' ? '→ from' : '← to'} the ${peerLine(session.dump)}`}</Fact>
        <Fact name="kind">{what}</Fact>
        {problem !== undefined && <Fact name="error">{problem}</Fact>}
        {id !== undefined && <Fact name="id">{JSON.stringify(id)}</Fact>}
        <Fact name="time">{timeOfDay(at)}</Fact>
        {request && (
          <Fact name="answers">
            <Link view={view} to={request} /> ({durationText(at - request.at)} before)
          </Fact>
        )}
        {answer && (
          <Fact name="answered by">
            <Link view={view} to={answer} /> ({durationText(answer.at - at)} later)
          </Fact>
        )}
        {causedBy(session, seq).map((each) => (
          <Fact key={each.seq} name="caused">
            <Link view={view} to={each} />
          </Fact>
        ))}
      </dl>
      <Json text={frame} label="Frame" />
    </>
  );
}

function TransitionDetail({ view, event }: DetailProps<TransitionEvent>) {
  const { task, cause, at, causedBy: seq } = event;
  const frame = eventOf(view.session, seq);
  const own =
    view.session.dump.side === 'host'
      ? 'the host itself, a timer, or the channel to the server'
      : 'the server itself, a timer, or the end of the input';
  const others = task === undefined ? own : 'its handler, the answer to a question, or a timer';
  return (
    <>
      <dl class="facts-list">
        {task !== undefined && <Fact name="task">{task}</Fact>}
        <Fact name="by">{cause}</Fact>
        <Fact name="time">{timeOfDay(at)}</Fact>
        <Fact name="caused by">
          {frame ? <Link view={view} to={frame} /> : `no recorded message; possibly ${others}`}
        </Fact>
      </dl>
      <Json text={event.event} label="Event" />
    </>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

function Link({ view, to }: { readonly view: ShownSessionView; readonly to: PageEvent }) {
  return (
    <button type="button" class="link" onClick={() => choose(view, to.seq)}>
      {titleOf(to)}
    </button>
  );
}

function Json({ text, label }: { readonly text: string; readonly label: string }) {
  if (text === '')
    return (
      <p class="note">
        Content not recorded: the event predates this page, or traffic was too heavy.
      </p>
    );
  return <pre aria-label={label}>{text}</pre>;
}
