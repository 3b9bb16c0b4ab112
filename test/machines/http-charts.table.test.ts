/** The charts of what there are thousands of over HTTP: every event in every state. */
import { describe, expect, test } from 'vitest';
import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { admissionChart, admissionMachine } from '../../src/machines/admission.machine.ts';
import { postAnswerChart, postAnswerMachine } from '../../src/machines/post-answer.machine.ts';
import { postChart, postMachine } from '../../src/machines/post.machine.ts';
import type { PureChart } from '../../src/machines/pure-chart.ts';
import { pushHoldChart, pushHoldMachine } from '../../src/machines/push-hold.machine.ts';
import { redisLinkChart, redisLinkMachine } from '../../src/machines/redis-link.machine.ts';
import { serverPushChart, serverPushMachine } from '../../src/machines/server-push.machine.ts';
import {
  sessionStreamChart,
  sessionStreamMachine,
} from '../../src/machines/session-stream.machine.ts';
import { sinkChart, sinkMachine } from '../../src/machines/sink.machine.ts';
import { stateName } from '../../src/machines/names.ts';
import {
  streamFollowerChart,
  streamFollowerMachine,
} from '../../src/machines/stream-follower.machine.ts';

/** How each state is reached, and what leads out of it; every other event leads nowhere. */
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
      'stream.forgotten': 'forgotten',
    },
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
  unbegun: {
    by: [],
    to: { 'stream.begun': 'streaming', 'client.left': 'lost', 'answer.ended': 'over' },
  },
  streaming: { by: ['stream.begun'], to: { 'answer.ended': 'over' } },
  lost: { by: ['client.left'], to: { 'answer.ended': 'over' } },
  over: { by: ['answer.ended'] },
};

const sinks: Rows = {
  open: {
    by: [],
    to: { 'output.hold': 'holding.more', 'output.end': 'ending', 'connection.cut': 'over' },
  },
  'holding.more': {
    by: ['output.hold'],
    to: { 'output.end': 'holding.all', 'output.release': 'open', 'connection.cut': 'over' },
  },
  'holding.all': {
    by: ['output.hold', 'output.end'],
    to: { 'output.release': 'ending', 'connection.cut': 'over' },
  },
  ending: { by: ['output.end'], to: { 'output.taken': 'over', 'connection.cut': 'over' } },
  over: { by: ['connection.cut'] },
};

const admissions: Rows = {
  valid: { by: [], to: { 'token.recheck': 'rechecking', 'token.expired': 'expired' } },
  rechecking: {
    by: ['token.recheck'],
    to: {
      'token.accepted': 'valid',
      'token.refused': 'revoked',
      'token.unknown': 'unchecked',
      'token.expired': 'expired',
    },
  },
  expired: { by: ['token.expired'] },
  revoked: { by: ['token.recheck', 'token.refused'] },
  unchecked: { by: ['token.recheck', 'token.unknown'] },
};

const served: Rows = {
  asked: { by: [], to: { 'stream.served': 'served', 'stream.ended': 'over' } },
  served: { by: ['stream.served'], to: { 'stream.ended': 'over' } },
  over: { by: ['stream.ended'] },
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

const followers: Rows = {
  'following.reading.waiting,store.there': {
    by: [],
    to: {
      'stream.look': 'following.reading.once,store.there',
      'store.failed': 'following.reading.waiting,store.away',
      'stream.ended': 'ended',
    },
  },
  'following.reading.once,store.there': {
    by: ['stream.look'],
    to: {
      'stream.look': 'following.reading.again,store.there',
      'stream.read': 'following.reading.waiting,store.there',
      'store.failed': 'following.reading.once,store.away',
      'stream.ended': 'ended',
    },
  },
  'following.reading.again,store.away': {
    by: ['stream.look', 'stream.look', 'store.failed'],
    to: {
      'stream.read': 'following.reading.once,store.away',
      'store.answered': 'following.reading.again,store.there',
      'stream.ended': 'ended',
    },
  },
  ended: { by: ['stream.ended'] },
};

const holds: Rows = {
  none: { by: [], to: { 'stream.opened': 'asking' } },
  asking: {
    by: ['stream.opened'],
    to: {
      'stream.closed': 'none',
      'hold.granted': 'holding',
      'hold.taken': 'elsewhere',
      'hold.failed': 'elsewhere',
    },
  },
  holding: {
    by: ['stream.opened', 'hold.granted'],
    to: { 'stream.opened': 'asking', 'stream.closed': 'none', 'hold.taken': 'elsewhere' },
  },
  elsewhere: {
    by: ['stream.opened', 'hold.taken'],
    to: { 'stream.opened': 'asking', 'stream.closed': 'none', 'hold.granted': 'holding' },
  },
};

const links: Rows = {
  connecting: { by: [], to: { 'link.connected': 'ready', 'link.close': 'closed' } },
  ready: {
    by: ['link.connected'],
    to: { 'link.lost': 'connecting', 'answer.overdue': 'stalled', 'link.close': 'closed' },
  },
  stalled: {
    by: ['link.connected', 'answer.overdue'],
    to: {
      'link.connected': 'ready',
      'link.lost': 'connecting',
      'answer.received': 'ready',
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
    events.reduce((state, type) => chart.next(state, { type } as TEvent), chart.begun);
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
stated(admissionMachine, admissionChart, admissions);
stated(postMachine, postChart, posts);
stated(serverPushMachine, serverPushChart, served);
stated(streamFollowerMachine, streamFollowerChart, followers);
stated(pushHoldMachine, pushHoldChart, holds);
stated(redisLinkMachine, redisLinkChart, links);
