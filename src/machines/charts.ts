/** The machines whose charts are shown: by the page, and as diagrams. */
import type { AnyStateMachine } from 'xstate';
import { admissionMachine } from './admission.machine.ts';
import { authorizationMachine } from './authorization.machine.ts';
import { catalogMachine } from './catalog.machine.ts';
import { childMachine } from './child.machine.ts';
import { closingMachine } from './closing.machine.ts';
import { connectionMachine } from './connection.machine.ts';
import { deviceLoginMachine } from './device-login.machine.ts';
import { followedTaskMachine } from './followed-task.machine.ts';
import { httpChannelMachine } from './http-channel.machine.ts';
import { httpSessionMachine } from './http-session.machine.ts';
import { httpStreamMachine } from './http-stream.machine.ts';
import { keepaliveMachine } from './keepalive.machine.ts';
import { listeningMachine } from './listening.machine.ts';
import { memberMachine } from './member.machine.ts';
import { postMachine } from './post.machine.ts';
import { postAnswerMachine } from './post-answer.machine.ts';
import { processMachine } from './process.machine.ts';
import { forwardMachine } from './forward.machine.ts';
import { ownershipMachine } from './ownership.machine.ts';
import { redisLinkMachine } from './redis-link.machine.ts';
import { rootsMachine } from './roots.machine.ts';
import { sdkTransportMachine } from './sdk-transport.machine.ts';
import { serverPushMachine } from './server-push.machine.ts';
import { serverSlotMachine } from './server-slot.machine.ts';
import { sessionMachine } from './session.machine.ts';
import { sessionStreamMachine } from './session-stream.machine.ts';
import { sinkMachine } from './sink.machine.ts';
import { stdioChannelMachine } from './stdio-channel.machine.ts';
import { subscriptionMachine } from './subscription.machine.ts';
import { suspendableCallMachine } from './suspendable-call.machine.ts';
import { taskMachine } from './task.machine.ts';
import { taskWorkMachine } from './task-work.machine.ts';
import { updatesMachine } from './updates.machine.ts';
import { upstreamMachine } from './upstream.machine.ts';

/** Keeps the names. What each machine takes is its own file's to say: here it would be 80 kB of declarations. */
const named = <T extends string>(
  machines: Readonly<Record<T, AnyStateMachine>>,
): Readonly<Record<T, AnyStateMachine>> => machines;

/** Every machine that has a chart, by its name. */
export const charts = named({
  session: sessionMachine,
  roots: rootsMachine,
  keepalive: keepaliveMachine,
  task: taskMachine,
  'task-work': taskWorkMachine,
  subscription: subscriptionMachine,
  call: suspendableCallMachine,
  upstream: upstreamMachine,
  http: httpSessionMachine,
  answer: postAnswerMachine,
  'session-stream': sessionStreamMachine,
  sink: sinkMachine,
  admission: admissionMachine,
  ownership: ownershipMachine,
  forward: forwardMachine,
  redis: redisLinkMachine,
  connection: connectionMachine,
  'http-channel': httpChannelMachine,
  post: postMachine,
  'stdio-channel': stdioChannelMachine,
  process: processMachine,
  child: childMachine,
  authorization: authorizationMachine,
  'device-login': deviceLoginMachine,
  stream: httpStreamMachine,
  catalog: catalogMachine,
  listening: listeningMachine,
  updates: updatesMachine,
  followed: followedTaskMachine,
  slot: serverSlotMachine,
  member: memberMachine,
  'server-push': serverPushMachine,
  'sdk-transport': sdkTransportMachine,
  closing: closingMachine,
});

export type ChartName = keyof typeof charts;
