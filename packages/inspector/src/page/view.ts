/** Inputs of the page's components. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import type { SnapshotFrom } from 'xstate';
import { isUrgent } from './attention.ts';
import type { Model, ShownSession } from './model.ts';
import type { PageMachineEvent, pageMachine } from './page.machine.ts';

export interface View {
  /** Selection and layout. */
  readonly page: SnapshotFrom<typeof pageMachine>;
  readonly model: Model;
  readonly send: (event: PageMachineEvent) => void;
  /** Reference time for displayed ages, on the `performance.now()` clock. */
  readonly now: number;
}

/** Inputs of the components that show one session. */
export interface ShownSessionView extends View {
  readonly session: ShownSession;
  /** Time since the dump was made, ms; 0 after the end. */
  readonly elapsedMs: number;
}

/** The selected session, if any. */
export function shownSessionView(view: View): ShownSessionView | undefined {
  const { page, model, now } = view;
  const session = model.sessions.get(page.context.session ?? '') ?? inOrder(model)[0];
  return session && { ...view, session, elapsedMs: elapsedOf(session, now) };
}

/** All sessions: urgent ones first, ended ones last, otherwise in order of arrival. */
export function inOrder({ sessions }: Model): readonly ShownSession[] {
  const placeOf = (session: ShownSession) =>
    session.closed === undefined ? Number(!isUrgent(session)) : 2;
  return [...sessions.values()].toSorted((a, b) => placeOf(a) - placeOf(b));
}

/** Time since a session's dump was made, ms; 0 after the end. */
export function elapsedOf({ closed, dumpedAt }: ShownSession, now: number): number {
  return closed === undefined ? Math.max(0, now - dumpedAt) : 0;
}

/** Content width of an element, pixels; 0 before the first layout. */
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
