/** Isolated actors under test, with recording fakes for the others. */
import { createActor } from 'xstate';
import type { EventObject } from 'xstate';
import { plainActor } from '../../src/machines/port.ts';
import type { Port, Ref } from '../../src/machines/port.ts';
import type { Fact, Report } from '../../src/actors/facts.ts';

/** A started actor that records its events. @param heard called with each event */
export function listener<TEvent extends EventObject>(heard?: (event: TEvent) => void) {
  const events: TEvent[] = [];
  const logic = plainActor<TEvent, undefined>(() => ({
    receive: (event) => {
      events.push(event);
      heard?.(event);
    },
  }));
  const actor = createActor(logic, { input: undefined });
  actor.start();
  return { events, ref: actor as unknown as Ref<TEvent> };
}

/** Starts a plain actor. `errors` receives the errors it throws. */
export function startPort<TEvent extends EventObject, TInput>(
  logic: Port<TEvent, TInput>,
  input: TInput,
) {
  const actor = createActor(logic, { input } as Parameters<typeof createActor<typeof logic>>[1]);
  const errors: unknown[] = [];
  actor.subscribe({ error: (error) => errors.push(error) });
  actor.start();
  const view = (): unknown => actor.getSnapshot().behaviour?.view;
  return { actor, ref: actor as unknown as Ref<TEvent>, errors, view };
}

/** A report that records its facts. */
export function facts(): { readonly heard: Fact[]; readonly report: Report } {
  const heard: Fact[] = [];
  return { heard, report: (fact) => void heard.push(fact) };
}

/** Waits until all pending promises have settled. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}
