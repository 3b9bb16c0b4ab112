/**
 * A node's right to serve the sessions that it owns. It has it for as long as its lease lasts, which
 * it measures by its own clock from before it asked for it: so it stops before any other node can
 * take it for dead. A lease that was over never comes back; the node joins anew under another name.
 *
 * It has no context and does nothing by itself: see {@link pureChart}. The test of the protocol
 * explores it together with what the directory does (docs/maintaining/decisions/17-one-session-one-owner.md).
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type OwnershipEvent =
  /** The directory has granted a lease under a new name. */
  | { readonly type: 'lease.granted' }
  /** By this node's clock it is over, or the directory has none of it. */
  | { readonly type: 'lease.over' }
  /** The directory has other data than before: it was emptied, or has gone back. */
  | { readonly type: 'store.changed' }
  /** What this node knows has been put back. */
  | { readonly type: 'store.restored' }
  /** This node leaves. */
  | { readonly type: 'node.left' };

/** What a state means outside the machine. */
export type OwnershipTag = /** Its sessions are served. */ 'serving';

export const ownershipMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as OwnershipEvent,
    tags: {} as OwnershipTag,
  },
}).createMachine({
  id: 'ownership',
  context: {},
  initial: 'joining',
  on: { 'node.left': '.left' },
  states: {
    joining: {
      description: 'It owns nothing, and asks for a lease. What it owned before it may put back.',
      on: { 'lease.granted': 'owning' },
    },
    owning: {
      description: 'Its sessions are its own: nobody else can claim them.',
      tags: 'serving',
      on: { 'lease.over': 'joining', 'store.changed': 'restoring' },
    },
    restoring: {
      description: 'It puts back what the directory has lost. Nobody claims anything meanwhile.',
      tags: 'serving',
      on: { 'lease.over': 'joining', 'store.restored': 'owning' },
    },
    left: { type: 'final', description: 'Others may claim what it owned.' },
  },
});

/** The state of a node's right. */
export type OwnershipSnapshot = SnapshotFrom<typeof ownershipMachine>;

export const ownershipChart: PureChart<OwnershipSnapshot, OwnershipEvent> =
  pureChart(ownershipMachine);
