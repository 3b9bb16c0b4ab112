/** Machines that the inspector and `diagram` draw. */
import type { AnyStateMachine } from 'xstate';
import { tokenValidityMachine } from '../packages/http/src/token-validity.machine.ts';
import { authorizationMachine } from '../packages/client/src/auth/authorization.machine.ts';
import { catalogMachine } from '../packages/client/src/lists/catalog.machine.ts';
import { supervisorMachine } from '../packages/serve/src/supervisor/supervisor.machine.ts';
import { childMachine } from '../packages/processes/src/child.machine.ts';
import { closingMachine } from './server/closing.machine.ts';
import { connectionMachine } from '../packages/client/src/connection/connection.machine.ts';
import { deviceLoginMachine } from '../packages/client/src/auth/device-login.machine.ts';
import { followedTaskMachine } from '../packages/client/src/connection/followed-task.machine.ts';
import { httpChannelMachine } from '../packages/client/src/http/http-channel.machine.ts';
import { httpSessionMachine } from '../packages/http/src/legacy/http-session.machine.ts';
import { httpStreamMachine } from '../packages/client/src/http/http-stream.machine.ts';
import { keepaliveMachine } from './machines/keepalive.machine.ts';
import { listeningMachine } from '../packages/client/src/lists/listening.machine.ts';
import { managedServerMachine } from '../packages/bridge/src/managed-server.machine.ts';
import { postMachine } from '../packages/client/src/http/post.machine.ts';
import { postAnswerMachine } from '../packages/http/src/post-answer.machine.ts';
import { processMachine } from '../packages/processes/src/process.machine.ts';
import { forwardMachine } from '../packages/http/src/forward/forward.machine.ts';
import { ownershipMachine } from '../packages/http/src/owner/ownership.machine.ts';
import { redisLinkMachine } from '../packages/nodes/src/redis-link.machine.ts';
import { rootsMachine } from './machines/roots.machine.ts';
import { sdkTransportMachine } from './transports/sdk-transport.machine.ts';
import { serverPushMachine } from '../packages/client/src/http/server-push.machine.ts';
import { serverSlotMachine } from '../packages/client/src/hosts/server-slot.machine.ts';
import { sessionMachine } from './machines/session.machine.ts';
import { sessionStreamMachine } from '../packages/http/src/legacy/session-stream.machine.ts';
import { sinkMachine } from '../packages/http/src/sink.machine.ts';
import { stdioChannelMachine } from '../packages/client/src/stdio/stdio-channel.machine.ts';
import { subscriptionMachine } from './machines/subscription.machine.ts';
import { suspendableCallMachine } from './machines/suspendable-call.machine.ts';
import { taskMachine } from '../packages/tasks/src/task.machine.ts';
import { taskWorkMachine } from '../packages/tasks/src/task-work.machine.ts';
import { updatesMachine } from '../packages/client/src/lists/updates.machine.ts';
import { upstreamMachine } from '../packages/bridge/src/upstream.machine.ts';

/** Keeps only the names in the type: the full machine types would be 80 kB of declarations. */
const named = <T extends string>(
  machines: Readonly<Record<T, AnyStateMachine>>,
): Readonly<Record<T, AnyStateMachine>> => machines;

/** All machines with a chart, by name. */
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
  'token-validity': tokenValidityMachine,
  ownership: ownershipMachine,
  forward: forwardMachine,
  redis: redisLinkMachine,
  connection: connectionMachine,
  'http-channel': httpChannelMachine,
  post: postMachine,
  'stdio-channel': stdioChannelMachine,
  process: processMachine,
  child: childMachine,
  supervisor: supervisorMachine,
  authorization: authorizationMachine,
  'device-login': deviceLoginMachine,
  stream: httpStreamMachine,
  catalog: catalogMachine,
  listening: listeningMachine,
  updates: updatesMachine,
  followed: followedTaskMachine,
  slot: serverSlotMachine,
  'managed-server': managedServerMachine,
  'server-push': serverPushMachine,
  'sdk-transport': sdkTransportMachine,
  closing: closingMachine,
});

export type ChartName = keyof typeof charts;
