/**
 * A node's right to serve its sessions, which lasts as long as its lease. The node measures the
 * lease with its own clock from before the request, so it stops before other nodes can consider it
 * dead. An expired lease is never renewed: the node rejoins under another name.
 *
 * A pure chart without context or actor: see {@link pureChart}. The protocol's test explores it
 * together with a directory (docs/decisions/17-one-session-one-owner.md).
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type OwnershipEvent =
  /** The directory granted a lease under a new name. */
  | { readonly type: 'lease.granted' }
  /** The lease expired by this node's clock, or the directory lost it. */
  | { readonly type: 'lease.expired' }
  /** The directory's data changed: it was emptied or rolled back. */
  | { readonly type: 'store.changed' }
  /** This node restored its data in the directory. */
  | { readonly type: 'store.restored' }
  /** This node has left. */
  | { readonly type: 'node.left' };

/** Meaning of the states for users of the machine. */
export type OwnershipTag = /** The node serves its sessions. */ 'serving';

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
      description: 'Requests a lease. The node owns nothing but may restore earlier sessions.',
      on: { 'lease.granted': 'owning' },
    },
    owning: {
      description: 'Serves its sessions; no other node can claim them.',
      tags: 'serving',
      on: { 'lease.expired': 'joining', 'store.changed': 'restoring' },
    },
    restoring: {
      description: 'Restores what the directory lost; no node can claim sessions meanwhile.',
      tags: 'serving',
      on: { 'lease.expired': 'joining', 'store.restored': 'owning' },
    },
    left: { type: 'final', description: 'Other nodes may claim the sessions.' },
  },
});

/** State of a node's ownership. */
export type OwnershipSnapshot = SnapshotFrom<typeof ownershipMachine>;

export const ownershipChart: PureChart<OwnershipSnapshot, OwnershipEvent> =
  pureChart(ownershipMachine);
