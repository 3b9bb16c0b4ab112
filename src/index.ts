/** Public API of `mcp-actors`: servers, definitions, sessions and transports. */
export { createMcpServer } from './server/create-server.ts';
export type { ListenOptions, McpServer } from './server/create-server.ts';
export { sessionOf } from './server/session-actor.ts';
export type { SessionImplementations } from './server/session/session-logic.ts';
export type { SessionLogicInput } from './server/session-actor.ts';
export type { McpSession, SessionOptions, WatchedSession, Watcher } from './server/session.ts';
export type { TrafficItem } from './server/session/traffic-item.ts';
export { content } from './server/define/content.ts';
export { defineTool } from './server/define/tool.ts';
export type { ToolAnswer } from './server/define/tool-question.ts';
export type { Tool, ToolSpecification } from './server/define/tool.ts';
export { defineAppResource } from './server/define/app.ts';
export type { AppResourceSpecification } from './server/define/app.ts';
export { defineResource, defineResourceTemplate } from './server/define/resource.ts';
export type {
  Resource,
  ResourceDescription,
  ResourceTemplate,
  ResourceTemplateSpecification,
} from './server/define/resource.ts';
export { defineSkill } from './server/define/skill.ts';
export type { Skill, SkillSpecification } from './server/define/skill.ts';
export { definePrompt } from './server/define/prompt.ts';
export type {
  Prompt,
  PromptMessage,
  PromptOutput,
  PromptSpecification,
} from './server/define/prompt.ts';
export type { ServerDefinition } from './server/define/definition.ts';
export type { Upstream, UpstreamClient } from './server/define/upstream.ts';
export type { IncomingCall, Middleware } from './server/features/middleware.ts';
export type { Schema, StandardSchema } from '../packages/schema/src/schema.ts';
export type { ContentBlock, ResourceContents } from './protocol/content.ts';
export type { ToolOutput, ToolResult } from './server/define/tool.ts';
export type { Principal, ServedHttpRequest } from './protocol/request-origin.ts';
export type { HandlerContext, RequestOptions } from './server/context/handler-context.ts';
export { UrlElicitationRequired } from './server/context/elicitation.ts';
export { logLevels } from './protocol/log-levels.ts';
export type { LogLevel } from './protocol/log-levels.ts';
export { causesOf } from '../packages/diagnostics/src/causes.ts';
export { describeDump, explainDump } from '../packages/diagnostics/src/dump-text.ts';
export { headlineOf } from '../packages/diagnostics/src/headline.ts';
export type { SessionDump } from '../packages/diagnostics/src/session-dump.ts';
export { defineForm } from '../packages/schema/src/forms/form.ts';
export type { Form } from '../packages/schema/src/forms/form.ts';
export type { JsonSchema } from '../packages/schema/src/json-schema.ts';
export { defaultLimits } from './actors/limits.ts';
export type { Limits } from './actors/limits.ts';
export { memory } from './transports/memory.ts';
export type { MemoryPeer } from './transports/memory.ts';
export { fromSdkTransport } from './transports/from-sdk-transport.ts';
export { toSdkTransport } from './transports/to-sdk-transport.ts';
export type { SdkTransport } from './transports/sdk-transport.ts';
export { stdio } from './transports/stdio.ts';
export type { StdioStreams } from './transports/stdio.ts';
export type { Transport, TransportActors } from './transports/transport.ts';
export { rootsMachine } from './machines/roots.machine.ts';
export type { AskInput, AskOutcome } from './machines/roots.machine.ts';
export { stateName } from './machines/names.ts';
export { sessionMachine } from './machines/session.machine.ts';
export type { SessionEmitted, SessionOutput } from './machines/session.machine.ts';
export type { SessionActorRef, SessionSnapshot, SessionState } from './machines/session-state.ts';
export type { ReaderEvent, ReaderInput, WriterEvent, WriterInput } from './machines/peer-ports.ts';
export type { CloseCause } from './machines/session-ports.ts';
export { classify, messageOf } from './protocol/classify.ts';
export type { TaskHandle } from './actors/request-context.ts';
export { ErrorCode, ProtocolError, RuntimeError, ToolError } from './protocol/errors.ts';
export type { RuntimeErrorCode } from './protocol/errors.ts';
export type { Fact, Report } from './actors/facts.ts';
export type { InboundFrame, JsonObject, OutboundFrame, RequestId } from './protocol/frames.ts';
export type { ProgressReport } from './protocol/dialects/dialect.ts';
export type { Implementation } from './protocol/implementation.ts';
export type { Task } from './protocol/tasks.ts';
export type {
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskRecord,
  TaskStore,
} from '../packages/tasks/src/task-store.ts';
export type { Root, RootsReport } from './protocol/roots.ts';
