/** Fake actors for a machine's ports, and the effects of a transition as text. */
import type { EventObject } from 'xstate';
import { createActor } from 'xstate';
import { plainActor } from '../../src/machines/port.ts';
import type { Port, Ref } from '../../src/machines/port.ts';

/** Actor logic that records its events. */
export function recorder<TEvent extends EventObject, TInput>(
  events: TEvent[],
): Port<TEvent, TInput> {
  return plainActor<TEvent, TInput>(() => ({ receive: (event) => void events.push(event) }));
}

/** A started actor that records its events. */
export function listener<TEvent extends EventObject>() {
  const events: TEvent[] = [];
  const actor = createActor(recorder<TEvent, undefined>(events), { input: undefined });
  actor.start();
  return { events, ref: actor as unknown as Ref<TEvent> };
}

/** The limits of a session without keepalive. */
export const noKeepalive = {
  keepaliveIntervalMs: 0,
  keepaliveTimeoutMs: 10_000,
  keepaliveFailures: 3,
};

/** An action that a pure transition would execute. */
export interface Action {
  readonly type: string;
  readonly params?: unknown;
}

interface SomeParams {
  readonly to?: { readonly id: string };
  readonly delay?: number;
  readonly event?: EventObject;
}

/**
 * `router<gate.opened` for a send, `emit x` for an emitted event, `after 2000` for a started delay,
 * otherwise the action's name.
 */
export function inWords(actions: readonly Action[]): string[] {
  return actions.flatMap(({ type, params }) => {
    const { to, delay, event } = (params ?? {}) as SomeParams;
    switch (type) {
      case 'xstate.sendTo':
        return [`${to?.id}<${event?.type}`];
      case 'xstate.emit':
        return [`emit ${event?.type}`];
      case 'xstate.raise':
        return [`after ${delay}`];
      case 'xstate.cancel':
      case 'xstate.stopChild':
        return [];
      default:
        return [type];
    }
  });
}
