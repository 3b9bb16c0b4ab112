/**
 * Client of the stateless era as a statechart that defines the allowed next moves. Three parallel
 * regions: the connection, a tool call with its retries, and a subscription. There is no handshake,
 * and each request describes its client only for itself.
 */
import { and, setup, stateIn } from 'xstate';
import { featureGuards, servedMoves } from './client.machine.ts';
import type { ClientFeatures } from './client.machine.ts';
import type { Move } from './move.ts';

const same = { target: 'settled' } as const;

export const modernClientMachine = setup({
  types: {
    input: {} as ClientFeatures,
    context: {} as ClientFeatures,
    events: {} as Move,
  },
  guards: { ...featureGuards, isSettled: stateIn({ connection: 'settled' }) },
}).createMachine({
  id: 'modernClient',
  type: 'parallel',
  context: ({ input }) => input,
  states: {
    connection: {
      initial: 'fresh',
      states: {
        fresh: {
          description: 'No response specific to this era has arrived yet.',
          on: {
            discover: 'fresh',
            'revision-unknown': 'fresh',
            list: { guard: 'hasLists', target: 'settled' },
            'unknown-method': 'settled',
            end: 'ended',
          },
        },
        settled: {
          on: {
            ...servedMoves('settled'),
            discover: same,
            'revision-unknown': same,
            bare: { ...same, guard: 'hasLists' },
            removed: same,
            'cancel-unknown': { ...same, guard: 'isStdio' },
            'cancel-malformed': { ...same, guard: 'isStdio' },
            'cancel-done': { ...same, guard: 'isStdio' },
            'http-strange-session': { ...same, guard: 'isHttp' },
            'http-method': { ...same, guard: 'isHttp' },
            'http-no-method': { ...same, guard: 'isHttp' },
            'http-name': { ...same, guard: and(['isHttp', 'hasResources']) },
            'http-encoded-name': { ...same, guard: and(['isHttp', 'hasResources']) },
            'http-get': { ...same, guard: 'isHttp' },
            last: { guard: and(['isStdio', 'hasLists']), target: 'ended' },
          },
        },
        ended: {},
      },
    },
    call: {
      initial: 'none',
      states: {
        none: {
          on: {
            call: { guard: 'isSettled', target: 'running' },
            'call-zero': { guard: 'isSettled', target: 'runningZero' },
            'call-bare': { guard: 'isSettled', target: 'none' },
          },
        },
        running: {
          description: 'The call may have requested input; a retry brings the answers.',
          on: {
            call: { guard: 'isSettled', target: 'running' },
            cancel: { guard: 'isSettled', target: 'cancelled' },
            retry: { guard: and(['isSettled', 'asks']), target: 'retried' },
            'retry-forged': { guard: and(['isSettled', 'asks']), target: 'running' },
          },
        },
        runningZero: { on: { cancel: { guard: 'isSettled', target: 'cancelled' } } },
        retried: {
          on: {
            'retry-twice': { guard: 'isSettled', target: 'retried' },
            cancel: { guard: 'isSettled', target: 'cancelled' },
          },
        },
        cancelled: { on: { call: { guard: 'isSettled', target: 'running' } } },
      },
    },
    subscription: {
      initial: 'none',
      states: {
        none: { on: { listen: { guard: 'isSettled', target: 'listening' } } },
        listening: {
          on: {
            listen: { guard: 'isSettled', target: 'listening' },
            unlisten: { guard: 'isSettled', target: 'none' },
          },
        },
      },
    },
  },
});
