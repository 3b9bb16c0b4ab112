/**
 * Every event of a machine is handled in at least one of its states; an unhandled event would be
 * lost silently.
 */
import { expect, test } from 'vitest';
import type { AnyStateMachine } from 'xstate';
import type { AuthorizationEvent } from '../../packages/client/src/auth/authorization.machine.ts';
import { authorizationMachine } from '../../packages/client/src/auth/authorization.machine.ts';
import { deviceLoginMachine } from '../../packages/client/src/auth/device-login.machine.ts';
import type { CatalogEvent } from '../../packages/client/src/lists/catalog.machine.ts';
import { catalogMachine } from '../../packages/client/src/lists/catalog.machine.ts';
import type { ConnectionMachineEvent } from '../../packages/client/src/connection/connection-events.ts';
import { connectionMachine } from '../../packages/client/src/connection/connection.machine.ts';
import type { HttpChannelEvent } from '../../packages/client/src/http/http-channel.machine.ts';
import { httpChannelMachine } from '../../packages/client/src/http/http-channel.machine.ts';
import type { StdioChannelEvent } from '../../packages/client/src/stdio/stdio-channel.machine.ts';
import { stdioChannelMachine } from '../../packages/client/src/stdio/stdio-channel.machine.ts';
import type { HttpSessionEvent } from '../../packages/http/src/legacy/http-session.machine.ts';
import { httpSessionMachine } from '../../packages/http/src/legacy/http-session.machine.ts';
import type { HttpStreamEvent } from '../../packages/client/src/http/http-stream.machine.ts';
import { httpStreamMachine } from '../../packages/client/src/http/http-stream.machine.ts';
import { keepaliveMachine } from '../../src/machines/keepalive.machine.ts';
import type { ProcessEvent } from '../../packages/processes/src/process.machine.ts';
import { processMachine } from '../../packages/processes/src/process.machine.ts';
import type { FollowedTaskEvent } from '../../packages/client/src/connection/followed-task.machine.ts';
import { followedTaskMachine } from '../../packages/client/src/connection/followed-task.machine.ts';
import type { ListeningEvent } from '../../packages/client/src/lists/listening.machine.ts';
import { listeningMachine } from '../../packages/client/src/lists/listening.machine.ts';
import type { RootsEvent } from '../../src/machines/roots.machine.ts';
import { rootsMachine } from '../../src/machines/roots.machine.ts';
import type { SessionEvent } from '../../src/machines/session.machine.ts';
import { sessionMachine } from '../../src/machines/session.machine.ts';
import type { ManagedServerEvent } from '../../packages/bridge/src/managed-server.machine.ts';
import { managedServerMachine } from '../../packages/bridge/src/managed-server.machine.ts';
import type { ServerSlotEvent } from '../../packages/client/src/hosts/server-slot.machine.ts';
import { serverSlotMachine } from '../../packages/client/src/hosts/server-slot.machine.ts';
import type { ChildChange } from '../../packages/processes/src/child.machine.ts';
import { supervisorMachine } from '../../packages/serve/src/supervisor/supervisor.machine.ts';
import type { SupervisorEvent } from '../../packages/serve/src/supervisor/supervisor.machine.ts';
import { childMachine } from '../../packages/processes/src/child.machine.ts';
import type { ClosingEvent } from '../../src/server/closing.machine.ts';
import { closingMachine } from '../../src/server/closing.machine.ts';
import type { SdkTransportEvent } from '../../src/transports/sdk-transport.machine.ts';
import { sdkTransportMachine } from '../../src/transports/sdk-transport.machine.ts';
import type { ServerPushEvent } from '../../packages/client/src/http/server-push.machine.ts';
import { serverPushMachine } from '../../packages/client/src/http/server-push.machine.ts';
import type { SubscriptionEvent } from '../../src/machines/subscription.machine.ts';
import { subscriptionMachine } from '../../src/machines/subscription.machine.ts';
import type { TaskEvent } from '../../packages/tasks/src/task.machine.ts';
import { taskMachine } from '../../packages/tasks/src/task.machine.ts';
import type { SuspendableCallEvent } from '../../src/machines/suspendable-call.machine.ts';
import { suspendableCallMachine } from '../../src/machines/suspendable-call.machine.ts';
import type { PostEvent } from '../../packages/client/src/http/post.machine.ts';
import { postMachine } from '../../packages/client/src/http/post.machine.ts';
import type { PostAnswerEvent } from '../../packages/http/src/post-answer.machine.ts';
import { postAnswerMachine } from '../../packages/http/src/post-answer.machine.ts';
import type { SessionStreamEvent } from '../../packages/http/src/legacy/session-stream.machine.ts';
import { sessionStreamMachine } from '../../packages/http/src/legacy/session-stream.machine.ts';
import type { SinkEvent } from '../../packages/http/src/sink.machine.ts';
import { sinkMachine } from '../../packages/http/src/sink.machine.ts';
import type { TokenValidityEvent } from '../../packages/http/src/token-validity.machine.ts';
import { tokenValidityMachine } from '../../packages/http/src/token-validity.machine.ts';
import type { OwnershipEvent } from '../../packages/http/src/owner/ownership.machine.ts';
import { ownershipMachine } from '../../packages/http/src/owner/ownership.machine.ts';
import type { RedisLinkEvent } from '../../packages/nodes/src/redis-link.machine.ts';
import type { ForwardEvent } from '../../packages/http/src/forward/forward.machine.ts';
import { forwardMachine } from '../../packages/http/src/forward/forward.machine.ts';
import { redisLinkMachine } from '../../packages/nodes/src/redis-link.machine.ts';
import { everyMachine } from './every-machine.ts';
import type { UpdatesEvent } from '../../packages/client/src/lists/updates.machine.ts';
import type { UpstreamEvent } from '../../packages/bridge/src/upstream.machine.ts';
import { taskWorkMachine } from '../../packages/tasks/src/task-work.machine.ts';
import type { TaskWorkEvent } from '../../packages/tasks/src/task-work.machine.ts';
import { upstreamMachine } from '../../packages/bridge/src/upstream.machine.ts';
import { updatesMachine } from '../../packages/client/src/lists/updates.machine.ts';

/** Event types of a union, except XState's own. The compiler requires all of them. */
type Table<TEvent extends { readonly type: string }> = {
  readonly [T in Exclude<TEvent['type'], `xstate.${string}`>]: true;
};

const session: Table<SessionEvent> = {
  'session.shutdown': true,
  'initialize.received': true,
  'client.initializeAnswered': true,
  'client.initialized': true,
  'envelope.received': true,
  'initialized.received': true,
  'standaloneStream.opened': true,
  'standaloneStream.closed': true,
  'roots.changed': true,
  'roots.needed': true,
  'roots.due': true,
  'roots.updated': true,
  'calls.drained': true,
  'calls.running': true,
  'input.ended': true,
  'client.unresponsive': true,
  'output.blocked': true,
  'output.flowing': true,
  'output.flushed': true,
  'output.stalled': true,
  'output.broken': true,
};
const roots: Table<RootsEvent> = {
  'roots.ask': true,
  'roots.defer': true,
  'roots.invalidate': true,
  'roots.wanted': true,
  'roots.abandoned': true,
};
const task: Table<TaskEvent> = {
  'input.requested': true,
  'input.received': true,
  'task.describe': true,
  'run.answered': true,
  'task.cancel': true,
};

const subscription: Table<SubscriptionEvent> = {
  'change.noticed': true,
  'output.flowing': true,
  'connection.closing': true,
  'request.ended': true,
};

const httpSession: Table<HttpSessionEvent> = {
  'session.initializeAnswered': true,
  'session.initialized': true,
  'session.started': true,
  'session.actorsStarted': true,
  'session.idled': true,
  'session.used': true,
  'session.timedOut': true,
  'session.evicted': true,
  'session.abandoned': true,
  'session.ended': true,
};

const catalog: Table<CatalogEvent> = {
  'channel.opened': true,
  'channel.closed': true,
  'list.wanted': true,
  'list.forget': true,
  'list.invalidate': true,
  'list.refresh': true,
};

const process: Table<ProcessEvent> = {
  'process.stop': true,
  'process.kill': true,
  'child.launched': true,
  'child.failed': true,
  'child.exited': true,
  'output.ended': true,
  'group.emptied': true,
};

const authorization: Table<AuthorizationEvent> = {
  'token.wanted': true,
  'token.refused': true,
  'token.useless': true,
  'scope.missing': true,
  'channel.opened': true,
  'channel.closed': true,
  'login.begun': true,
  'login.asked': true,
  'login.answered': true,
};

const listening: Table<ListeningEvent> = {
  'subscription.acknowledged': true,
  'subscription.outslept': true,
};
/** Events of readers, writers and routers of both sides that a connection need not handle. */
type Unheard =
  | 'output.flushed'
  | 'output.stalled'
  | 'standaloneStream.opened'
  | 'standaloneStream.closed'
  | 'calls.drained'
  | 'calls.running';

const connection: Table<Exclude<ConnectionMachineEvent, { readonly type: Unheard }>> = {
  'connection.open': true,
  'connection.reopen': true,
  'connection.close': true,
  'connection.wanted': true,
  'reading.pause': true,
  'reading.resume': true,
  'channel.opened': true,
  'channel.lost': true,
  'channel.stopped': true,
  'channel.challenged': true,
  'channel.authorized': true,
  'login.changed': true,
  'session.expired': true,
  'era.found': true,
  'era.refused': true,
  'greeting.accepted': true,
  'greeting.refused': true,
  'input.ended': true,
  'output.broken': true,
  'output.blocked': true,
  'output.flowing': true,
};

const httpStream: Table<HttpStreamEvent> = {
  'stream.opened': true,
  'stream.cut': true,
  'stream.finished': true,
  'stream.refused': true,
  'stream.outslept': true,
};

const followed: Table<FollowedTaskEvent> = {
  'task.told': true,
  'task.listened': true,
  'task.abandon': true,
};

const slot: Table<ServerSlotEvent> = {
  'server.use': true,
  'server.close': true,
  'connection.opened': true,
  'connection.refused': true,
  'connection.closed': true,
};

const member: Table<ManagedServerEvent> = {
  'connection.ready': true,
  'connection.lost': true,
  'connection.failed': true,
  'server.suspend': true,
  'server.activate': true,
  'server.close': true,
};

const suspendableCall: Table<SuspendableCallEvent> = {
  'question.asked': true,
  'questions.answered': true,
  'questions.failed': true,
  'questions.sent': true,
  'answer.refused': true,
  'retry.received': true,
  'handler.settled': true,
  'urls.demanded': true,
  'urls.sent': true,
  'urls.failed': true,
  'call.cancelled': true,
};

const taskWork: Table<TaskWorkEvent> = {
  'work.rested': true,
  'work.stirred': true,
  'parking.begun': true,
  'parking.written': true,
  'session.ended': true,
  'task.overtaken': true,
  'work.ended': true,
};

const postAnswer: Table<PostAnswerEvent> = {
  'stream.started': true,
  'client.disconnected': true,
  'answer.ended': true,
};

const sessionStream: Table<SessionStreamEvent> = {
  'stream.connected': true,
  'stream.cut': true,
  'stream.answered': true,
  'stream.silenced': true,
  'stream.orphaned': true,
  'stream.adopted': true,
  'stream.forgotten': true,
};

const sink: Table<SinkEvent> = {
  'output.hold': true,
  'output.release': true,
  'output.finish': true,
  'output.drained': true,
  'connection.cut': true,
};

const tokenValidity: Table<TokenValidityEvent> = {
  'token.recheck': true,
  'token.accepted': true,
  'token.rejected': true,
  'token.unchecked': true,
  'token.expired': true,
};

const ownership: Table<OwnershipEvent> = {
  'lease.granted': true,
  'lease.expired': true,
  'store.changed': true,
  'store.restored': true,
  'node.left': true,
};

const forward: Table<ForwardEvent> = {
  'answer.started': true,
  'relay.started': true,
  'peer.failed': true,
  'request.ended': true,
};

const redisLink: Table<RedisLinkEvent> = {
  'link.connected': true,
  'link.lost': true,
  'reply.timedOut': true,
  'reply.received': true,
  'link.close': true,
};

const httpChannel: Table<HttpChannelEvent> = {
  'revision.agreed': true,
  'session.greeted': true,
  'session.initialized': true,
  'session.proven': true,
  'session.expired': true,
  'channel.close': true,
  'channel.ended': true,
};

const stdioChannel: Table<StdioChannelEvent> = {
  'process.launched': true,
  'pipe.failed': true,
  'channel.lost': true,
  'channel.close': true,
  'process.gone': true,
  'channel.stopped': true,
};

const upstream: Table<UpstreamEvent> = {
  'upstream.opened': true,
  'upstream.failed': true,
  'requests.begun': true,
  'requests.settled': true,
  'upstream.close': true,
  'upstream.closed': true,
};
const closing: Table<ClosingEvent> = { 'close.begin': true, 'close.done': true };

const supervisor: Table<SupervisorEvent> = {
  'supervisor.stop': true,
  'server.launched': true,
  'server.failed': true,
  'server.answered': true,
  'server.gone': true,
  'session.restored': true,
  'session.refused': true,
  'host.left': true,
};

const child: Table<ChildChange> = {
  'child.started': true,
  'child.abandoned': true,
  'child.ended': true,
  'group.empty': true,
};

const post: Table<PostEvent> = {
  'post.sent': true,
  'tools.wanted': true,
  'post.answered': true,
  'post.ended': true,
  'post.cancelled': true,
};

const serverPush: Table<ServerPushEvent> = { 'stream.served': true, 'stream.ended': true };

const updates: Table<UpdatesEvent> = {
  'server.telling': true,
  'server.silent': true,
  'subscription.asked': true,
  'subscription.opened': true,
  'subscription.ended': true,
  'channel.closed': true,
};

const sdkTransport: Table<SdkTransportEvent> = {
  'transport.start': true,
  'transport.opened': true,
  'output.blocked': true,
  'output.flowing': true,
  'transport.end': true,
  'transport.closed': true,
};

const tables: readonly (readonly [AnyStateMachine, object])[] = [
  [sessionMachine, session],
  [rootsMachine, roots],
  [catalogMachine, catalog],
  [listeningMachine, listening],
  [connectionMachine, connection],
  [taskMachine, task],
  [taskWorkMachine, taskWork],
  [subscriptionMachine, subscription],
  [processMachine, process],
  [keepaliveMachine, {}],
  [httpSessionMachine, httpSession],
  [httpChannelMachine, httpChannel],
  [postMachine, post],
  [stdioChannelMachine, stdioChannel],
  [suspendableCallMachine, suspendableCall],
  [forwardMachine, forward],
  [redisLinkMachine, redisLink],
  [ownershipMachine, ownership],
  [tokenValidityMachine, tokenValidity],
  [sinkMachine, sink],
  [sessionStreamMachine, sessionStream],
  [postAnswerMachine, postAnswer],
  [authorizationMachine, authorization],
  [deviceLoginMachine, {}],
  [httpStreamMachine, httpStream],
  [serverSlotMachine, slot],
  [managedServerMachine, member],
  [closingMachine, closing],
  [upstreamMachine, upstream],
  [serverPushMachine, serverPush],
  [updatesMachine, updates],
  [childMachine, child],
  [supervisorMachine, supervisor],
  [sdkTransportMachine, sdkTransport],
  [followedTaskMachine, followed],
  [subscriptionMachine, subscription],
];

const handledBy = (machine: AnyStateMachine): ReadonlySet<string> =>
  new Set(machine.events.filter((type) => !type.startsWith('xstate.')));

test.each(tables.map(([machine, table]) => [machine.id, machine, table] as const))(
  'handles every declared event of the %s machine, and no other',
  (_, machine, table) => {
    expect(handledBy(machine)).toEqual(new Set(Object.keys(table)));
  },
);

test('covers every machine', async () => {
  const machines = [...(await everyMachine()).values()];
  expect(new Set(tables.map(([machine]) => machine))).toEqual(new Set(machines));
});
