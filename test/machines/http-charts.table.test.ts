/** The charts without context: every event in every state. */
import { describe, expect, test } from 'vitest';
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  tokenValidityChart,
  tokenValidityMachine,
} from '../../packages/http/src/token-validity.machine.ts';
import { postAnswerChart, postAnswerMachine } from '../../packages/http/src/post-answer.machine.ts';
import { postChart, postMachine } from '../../packages/client/src/http/post.machine.ts';
import type { PureChart } from '../../src/machines/pure-chart.ts';
import { forwardChart, forwardMachine } from '../../packages/http/src/forward/forward.machine.ts';
import {
  ownershipChart,
  ownershipMachine,
} from '../../packages/http/src/owner/ownership.machine.ts';
import { redisLinkChart, redisLinkMachine } from '../../packages/nodes/src/redis-link.machine.ts';
import {
  serverPushChart,
  serverPushMachine,
} from '../../packages/client/src/http/server-push.machine.ts';
import {
  sessionStreamChart,
  sessionStreamMachine,
} from '../../packages/http/src/legacy/session-stream.machine.ts';
import { sinkChart, sinkMachine } from '../../packages/http/src/sink.machine.ts';
import { updatesChart, updatesMachine } from '../../packages/client/src/lists/updates.machine.ts';
import { stateName } from '../../src/machines/names.ts';

/** The path to each state and its transitions. All other events have no effect. */
interface Rows {
  readonly [state: string]: {
    readonly by: readonly string[];
    readonly to?: { readonly [event: string]: string };
  };
}

const streams: Rows = {
  cut: {
    by: [],
    to: {
      'stream.connected': 'open',
      'stream.answered': 'ended.answered',
      'stream.silenced': 'ended.silenced',
      'stream.orphaned': 'ended.orphaned',
      'stream.forgotten': 'forgotten',
    },
  },
  'ended.orphaned': {
    by: ['stream.orphaned'],
    to: { 'stream.adopted': 'cut', 'stream.forgotten': 'forgotten' },
  },
  open: {
    by: ['stream.connected'],
    to: {
      'stream.cut': 'cut',
      'stream.answered': 'ended.answered',
      'stream.silenced': 'ended.silenced',
    },
  },
  'ended.answered': { by: ['stream.answered'], to: { 'stream.forgotten': 'forgotten' } },
  'ended.silenced': {
    by: ['stream.connected', 'stream.silenced'],
    to: { 'stream.forgotten': 'forgotten' },
  },
  forgotten: { by: ['stream.silenced', 'stream.forgotten'] },
};

const answers: Rows = {
  unsent: {
    by: [],
    to: { 'stream.started': 'streaming', 'client.disconnected': 'lost', 'answer.ended': 'ended' },
  },
  streaming: { by: ['stream.started'], to: { 'answer.ended': 'ended' } },
  lost: { by: ['client.disconnected'], to: { 'answer.ended': 'ended' } },
  ended: { by: ['answer.ended'] },
};

const sinks: Rows = {
  open: {
    by: [],
    to: { 'output.hold': 'holding.writing', 'output.finish': 'ending', 'connection.cut': 'ended' },
  },
  'holding.writing': {
    by: ['output.hold'],
    to: {
      'output.finish': 'holding.complete',
      'output.release': 'open',
      'connection.cut': 'ended',
    },
  },
  'holding.complete': {
    by: ['output.hold', 'output.finish'],
    to: { 'output.release': 'ending', 'connection.cut': 'ended' },
  },
  ending: { by: ['output.finish'], to: { 'output.drained': 'ended', 'connection.cut': 'ended' } },
  ended: { by: ['connection.cut'] },
};

const tokens: Rows = {
  valid: { by: [], to: { 'token.recheck': 'rechecking', 'token.expired': 'expired' } },
  rechecking: {
    by: ['token.recheck'],
    to: {
      'token.accepted': 'valid',
      'token.rejected': 'revoked',
      'token.unchecked': 'unchecked',
      'token.expired': 'expired',
    },
  },
  expired: { by: ['token.expired'] },
  revoked: { by: ['token.recheck', 'token.rejected'] },
  unchecked: { by: ['token.recheck', 'token.unchecked'] },
};

const served: Rows = {
  asked: { by: [], to: { 'stream.served': 'served', 'stream.ended': 'over' } },
  served: { by: ['stream.served'], to: { 'stream.ended': 'over' } },
  over: { by: ['stream.ended'] },
};

const gone = { 'channel.closed': 'away' };

const heard: Rows = {
  away: { by: [], to: { 'server.telling': 'told', 'server.silent': 'unsubscribed' } },
  told: { by: ['server.telling'], to: gone },
  unsubscribed: { by: ['server.silent'], to: { ...gone, 'subscription.asked': 'subscribing' } },
  subscribing: {
    by: ['server.silent', 'subscription.asked'],
    to: { ...gone, 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
  },
  subscribed: {
    by: ['server.silent', 'subscription.asked', 'subscription.opened'],
    to: { ...gone, 'subscription.asked': 'replacing', 'subscription.ended': 'unsubscribed' },
  },
  replacing: {
    by: ['server.silent', 'subscription.asked', 'subscription.opened', 'subscription.asked'],
    to: { ...gone, 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
  },
};

const settledPost = { 'post.cancelled': 'over' };

const posts: Rows = {
  waiting: { by: [], to: { ...settledPost, 'post.sent': 'sent', 'post.ended': 'over' } },
  sent: {
    by: ['post.sent'],
    to: {
      ...settledPost,
      'tools.wanted': 'taught',
      'post.answered': 'answered',
      'post.ended': 'over',
    },
  },
  taught: {
    by: ['post.sent', 'tools.wanted'],
    to: { ...settledPost, 'post.answered': 'answered', 'post.ended': 'over' },
  },
  answered: { by: ['post.sent', 'post.answered'], to: settledPost },
  over: { by: ['post.cancelled'] },
};

const ended = { 'peer.failed': 'ended', 'request.ended': 'ended' } as const;

const forwards: Rows = {
  waiting: { by: [], to: { 'answer.started': 'buffering', 'relay.started': 'relaying', ...ended } },
  buffering: { by: ['answer.started'], to: ended },
  relaying: { by: ['relay.started'], to: ended },
  ended: { by: ['request.ended'] },
};

const ownerships: Rows = {
  joining: { by: [], to: { 'lease.granted': 'owning', 'node.left': 'left' } },
  owning: {
    by: ['lease.granted'],
    to: { 'lease.expired': 'joining', 'store.changed': 'restoring', 'node.left': 'left' },
  },
  restoring: {
    by: ['lease.granted', 'store.changed'],
    to: { 'lease.expired': 'joining', 'store.restored': 'owning', 'node.left': 'left' },
  },
  left: { by: ['node.left'] },
};

const links: Rows = {
  connecting: { by: [], to: { 'link.connected': 'ready', 'link.close': 'closed' } },
  ready: {
    by: ['link.connected'],
    to: { 'link.lost': 'connecting', 'reply.timedOut': 'stalled', 'link.close': 'closed' },
  },
  stalled: {
    by: ['link.connected', 'reply.timedOut'],
    to: {
      'link.connected': 'ready',
      'link.lost': 'connecting',
      'reply.received': 'ready',
      'link.close': 'closed',
    },
  },
  closed: { by: ['link.close'] },
};

function stated<TSnapshot extends AnyMachineSnapshot, TEvent extends EventObject>(
  machine: { readonly id: string; readonly events: readonly string[] },
  chart: PureChart<TSnapshot, TEvent>,
  rows: Rows,
) {
  const follow = (events: readonly string[]) =>
    events.reduce((state, type) => chart.next(state, { type } as TEvent), chart.initial);
  const cells = Object.entries(rows).flatMap(([state, { by, to }]) =>
    machine.events.map((event) => ({ state, event, by, next: to?.[event] ?? state })),
  );
  describe(`the ${machine.id} machine`, () => {
    test.each(cells)('in $state, on $event, goes to $next', ({ state, event, by, next }) => {
      expect(stateName(follow(by))).toBe(state);
      expect(stateName(follow([...by, event]))).toBe(next);
    });
  });
}

stated(sessionStreamMachine, sessionStreamChart, streams);
stated(postAnswerMachine, postAnswerChart, answers);
stated(sinkMachine, sinkChart, sinks);
stated(tokenValidityMachine, tokenValidityChart, tokens);
stated(postMachine, postChart, posts);
stated(serverPushMachine, serverPushChart, served);
stated(updatesMachine, updatesChart, heard);
stated(ownershipMachine, ownershipChart, ownerships);
stated(forwardMachine, forwardChart, forwards);
stated(redisLinkMachine, redisLinkChart, links);
