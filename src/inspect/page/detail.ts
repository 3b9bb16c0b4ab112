/** The event that is looked at: its frame, and what it caused or was caused by. */
import type { FrameEvent, PageEvent, TransitionEvent } from '../page-messages.ts';
import { byId, element } from './dom.ts';
import { duration, timeOfDay } from './durations.ts';
import type { Model, ShownSession } from './model.ts';

/** @param choose goes to another event */
export function showDetail(
  model: Model,
  session: ShownSession,
  event: PageEvent | undefined,
  choose: (seq: number) => void,
): void {
  const link = (target: PageEvent, text: string) => {
    const button = element('button', { type: 'button', class: 'link' }, text);
    button.addEventListener('click', () => choose(target.seq));
    return button;
  };
  byId('event').replaceChildren(
    ...(event === undefined
      ? [
          element(
            'p',
            { class: 'note' },
            'Choose an event: its frame, and the transition that it caused, are shown here.',
          ),
        ]
      : event.kind === 'frame'
        ? frame(model, session, event, link)
        : transition(model, session, event, link)),
  );
}

type Link = (target: PageEvent, text: string) => HTMLElement;

/** The event that one would look at next: the answer, or the cause, or the transition. */
export function nextOf(
  model: Model,
  session: ShownSession,
  event: PageEvent,
): PageEvent | undefined {
  if (event.kind === 'transition') return model.find(session, event.causedBy);
  const [caused] = model.causedBy(session, event.seq);
  return caused ?? model.answerTo(session, event.seq) ?? model.find(session, event.answers);
}

function frame(model: Model, session: ShownSession, event: FrameEvent, link: Link): Node[] {
  const { direction, what, method, id, at, seq } = event;
  const request = model.find(session, event.answers);
  const answer = model.answerTo(session, seq);
  const caused = model.causedBy(session, seq);
  const related = [
    ...(request
      ? [
          [
            'answers',
            link(request, `${nameOf(request)} (${duration(at - request.at)} before)`),
          ] as const,
        ]
      : []),
    ...(answer
      ? [
          [
            'answered by',
            link(answer, `${nameOf(answer)} (${duration(answer.at - at)} later)`),
          ] as const,
        ]
      : []),
    ...caused.map((each) => ['caused', link(each, nameOf(each))] as const),
  ];
  return [
    element('h3', {}, method ?? what),
    facts([
      ['way', direction === 'in' ? '→ from the client' : '← to the client'],
      ['what', what],
      ...(id === undefined ? [] : [['id', JSON.stringify(id)] as const]),
      ['time', timeOfDay(at)],
      ...related,
    ]),
    code(event.frame, 'Frame'),
  ];
}

function transition(
  model: Model,
  session: ShownSession,
  event: TransitionEvent,
  link: Link,
): Node[] {
  const { machine, task, from, to, cause, at } = event;
  const frame = model.find(session, event.causedBy);
  return [
    element('h3', {}, `${machine}: ${from} → ${to}`),
    facts([
      ...(task === undefined ? [] : [['task', task] as const]),
      ['by', cause],
      ['time', timeOfDay(at)],
      [
        'caused by',
        frame
          ? link(frame, nameOf(frame))
          : task === undefined
            ? 'no message that is shown: the server itself, a timer, or the end of the input'
            : 'no message that is shown: its handler, an answer that this waited for, or a timer',
      ],
    ]),
    code(event.event, 'Event'),
  ];
}

function facts(
  rows: readonly (readonly [name: string, value: string | HTMLElement])[],
): HTMLElement {
  return element(
    'dl',
    { class: 'facts-list' },
    ...rows.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]),
  );
}

function code(text: string, label: string): HTMLElement {
  return text === ''
    ? element('p', { class: 'note' }, 'It was not kept: too much passed at that moment.')
    : element('pre', { tabindex: '0', 'aria-label': label, role: 'group' }, text);
}

function nameOf(event: PageEvent): string {
  if (event.kind === 'transition') return `${event.machine}: ${event.from} → ${event.to}`;
  const id = event.id === undefined ? '' : ` #${event.id}`;
  const isAnswer = event.what === 'result' || event.what === 'error';
  return `${isAnswer ? `${event.what} of ` : ''}${event.method ?? event.what}${id}`;
}
