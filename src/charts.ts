/** The machines whose charts are shown: by the page, and as diagrams. */
import type { AnyStateMachine } from 'xstate';
import { admissionMachine } from './http/admission.machine.ts';
import { authorizationMachine } from './client/auth/authorization.machine.ts';
import { catalogMachine } from './client/lists/catalog.machine.ts';
import { childMachine } from './processes/child.machine.ts';
import { closingMachine } from './server/closing.machine.ts';
import { connectionMachine } from './client/connection/connection.machine.ts';
import { deviceLoginMachine } from './client/auth/device-login.machine.ts';
import { followedTaskMachine } from './client/connection/followed-task.machine.ts';
import { httpChannelMachine } from './client/http/http-channel.machine.ts';
import { httpSessionMachine } from './http/legacy/http-session.machine.ts';
import { httpStreamMachine } from './client/http/http-stream.machine.ts';
import { keepaliveMachine } from './machines/keepalive.machine.ts';
import { listeningMachine } from './client/lists/listening.machine.ts';
import { memberMachine } from './bridge/member.machine.ts';
import { postMachine } from './client/http/post.machine.ts';
import { postAnswerMachine } from './http/post-answer.machine.ts';
import { processMachine } from './processes/process.machine.ts';
import { forwardMachine } from './http/forward/forward.machine.ts';
import { ownershipMachine } from './http/owner/ownership.machine.ts';
import { redisLinkMachine } from './redis/redis-link.machine.ts';
import { rootsMachine } from './machines/roots.machine.ts';
import { sdkTransportMachine } from './transports/sdk-transport.machine.ts';
import { serverPushMachine } from './client/http/server-push.machine.ts';
import { serverSlotMachine } from './client/hosts/server-slot.machine.ts';
import { sessionMachine } from './machines/session.machine.ts';
import { sessionStreamMachine } from './http/legacy/session-stream.machine.ts';
import { sinkMachine } from './http/sink.machine.ts';
import { stdioChannelMachine } from './client/stdio/stdio-channel.machine.ts';
import { subscriptionMachine } from './machines/subscription.machine.ts';
import { suspendableCallMachine } from './machines/suspendable-call.machine.ts';
import { taskMachine } from './tasks/task.machine.ts';
import { taskWorkMachine } from './tasks/task-work.machine.ts';
import { updatesMachine } from './client/lists/updates.machine.ts';
import { upstreamMachine } from './server/upstream.machine.ts';

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
