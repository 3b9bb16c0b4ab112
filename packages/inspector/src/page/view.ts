/** What every part of the page is drawn from. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { SnapshotFrom } from 'xstate';
import { isUrgent } from './attention.ts';
import type { Model, ShownSession } from './model.ts';
import type { PageMachineEvent, pageMachine } from './page.machine.ts';

export interface View {
  /** What was chosen, and how it is shown. */
  readonly page: SnapshotFrom<typeof pageMachine>;
  readonly model: Model;
  readonly send: (event: PageMachineEvent) => void;
  /** The moment that ages are drawn for, by `performance.now()`. */
  readonly now: number;
}

/** What the parts of one session are drawn from. */
export interface ShownSessionView extends View {
  readonly session: ShownSession;
  /** Since the dump was made, milliseconds; 0 after the end. */
  readonly elapsedMs: number;
}

/** The session that is looked at, if there is any. */
export function shownSessionView(view: View): ShownSessionView | undefined {
  const { page, model, now } = view;
  const session = model.sessions.get(page.context.session ?? '') ?? inOrder(model)[0];
  return session && { ...view, session, elapsedMs: elapsedOf(session, now) };
}

/** All sessions in order of arrival: first those that need attention, last those that have ended. */
export function inOrder({ sessions }: Model): readonly ShownSession[] {
  const placeOf = (session: ShownSession) =>
    session.closed === undefined ? Number(!isUrgent(session)) : 2;
  return [...sessions.values()].toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** The time since a session's dump was made, milliseconds; 0 after the end. */
export function elapsedOf({ closed, dumpedAt }: ShownSession, now: number): number {
  return closed === undefined ? Math.max(0, now - dumpedAt) : 0;
}

/** The width that an element has for what is in it, pixels; 0 before it is drawn. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (!current) return undefined;
    const measure = () => setWidth(current.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    measure();
    return () => observer.disconnect();
  }, []);
  return width;
}
