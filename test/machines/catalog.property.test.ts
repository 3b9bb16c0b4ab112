/** A list under random orders of requests, changes, answers, disconnects and timers. */
import fc from 'fast-check';
import { initialTransition, transition } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { expect, test } from 'vitest';
import { catalogMachine } from '../../packages/client/src/lists/catalog.machine.ts';
import { inWords } from './stand-ins.ts';

type Snapshot = SnapshotFrom<typeof catalogMachine>;

const maxOvertaken = 3;
const steps = [
  ...['wanted', 'change', 'refresh', 'answer', 'fail'],
  ...['retry', 'quiet', 'pause over', 'open', 'close'],
] as const;
type Step = (typeof steps)[number];

/**
 * A server with a versioned list. A query returns the version of its start, as the worst server
 * would.
 */
class World {
  state: Snapshot;
  version = 0;
  /** Version of the query in flight. */
  asked: number | undefined = undefined;
  wasWanted = false;
  isOpen = true;
  discardedInRow = 0;

  constructor() {
    const limits = { retryMs: 1, maxOvertaken, spacingMs: 1, maxSpacingMs: 4 };
    [this.state] = initialTransition(catalogMachine, { name: 'tools', ...limits });
  }

  take(step: Step): void {
    switch (step) {
      case 'wanted':
        this.wasWanted = true;
        return this.send({ type: 'list.wanted' });
      case 'change':
        this.version++;
        return this.send({ type: 'list.invalidate' });
      case 'refresh':
        return this.send({ type: 'list.refresh' });
      case 'answer':
        return this.#answer();
      case 'fail':
        if (this.asked === undefined) return;
        return this.send({ type: 'xstate.error.actor.ask', error: new Error('failed') });
      case 'retry':
        return this.send({ type: 'xstate.after.retryTimeout.catalog.retrying' });
      case 'quiet':
        return this.send({ type: 'xstate.after.spacingTimeout.catalog.known.recent' });
      case 'pause over':
        return this.send({ type: 'xstate.after.spacingTimeout.catalog.pausing' });
      case 'open':
        if (!this.isOpen) this.send({ type: 'channel.opened' });
        this.isOpen = true;
        return;
      case 'close':
        this.isOpen = false;
        return this.send({ type: 'channel.closed' });
    }
  }

  #answer(): void {
    if (this.asked === undefined) return;
    const items = [{ version: this.asked }];
    const { catalog } = this.state.context;
    const output = { kind: 'answered', items, freshUntil: Infinity };
    this.send({ type: 'xstate.done.actor.ask', output });
    const isPublished = this.state.context.catalog !== catalog;
    this.discardedInRow = isPublished ? 0 : this.discardedInRow + 1;
  }

  send(event: object): void {
    const [next, actions] = transition(catalogMachine, this.state, event as never);
    this.state = next;
    if (!next.matches('asking')) this.asked = undefined;
    if (inWords(actions).includes('xstate.spawnChild')) this.asked = this.version;
  }
}

const newest = ({ state }: World) => state.context.catalog?.items[0]?.['version'];

test('never shows an outdated list as known, and always publishes one eventually [LISTS-05]', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...steps), { maxLength: 200 }), (path) => {
      const world = new World();
      for (const step of path) {
        world.take(step);
        if (world.state.matches('known')) expect(newest(world)).toBe(world.version);
        expect(world.discardedInRow).toBeLessThanOrEqual(maxOvertaken);
        // At most one query, none without a channel, and exactly one while the list is wanted and
        // unknown.
        expect(world.state.matches('asking')).toBe(world.asked !== undefined);
        if (!world.isOpen) expect(world.asked).toBeUndefined();
        if (!world.wasWanted) expect(world.state.matches('unknown')).toBe(true);
      }
      world.take('open');
      world.take('wanted');
      for (const last of ['pause over', 'answer', 'pause over', 'answer'] as const) {
        world.take(last);
      }
      expect([world.state.matches('known'), newest(world)]).toEqual([true, world.version]);
    }),
    { numRuns: 500 },
  );
});
