/** The public names. */
export { createMcpServer } from './server/create-server.ts';
export type { ListenOptions, McpServer } from './server/create-server.ts';
export { sessionOf } from './server/session-actor.ts';
export type { SessionImplementations } from './server/session-logic.ts';
export type { SessionEdge } from './server/session-edge.ts';
export type { SessionLogic, SessionLogicInput } from './server/session-actor.ts';
export type { McpSession, SessionOptions, WatchedSession, Watcher } from './server/session.ts';
export type { SessionActorRef, SessionSnapshot, SessionState } from './server/session-state.ts';
export type { SessionStreams } from './server/session-streams.observable.ts';
export type { TrafficItem } from './server/traffic-item.ts';
export type { TrafficListener } from './actors/traffic.ts';
export type { MachineName, MachineTransition, TransitionListener } from './server/transitions.ts';
export { defineTool } from './server/tool.ts';
export type { StructuredOutput, Tool, ToolAnnotations, ToolSpecification } from './server/tool.ts';
export { defineResource, defineResourceTemplate } from './server/resource.ts';
export type {
  Annotations,
  Complete,
  Filled,
  ReadResult,
  Resource,
  ResourceDescription,
  ResourceTemplate,
  ResourceTemplateSpecification,
  VariablesOf,
} from './server/resource.ts';
export type { UriTemplate, Variables } from './server/uri-template.ts';
export { definePrompt } from './server/prompt.ts';
export type {
  Prompt,
  PromptArgument,
  PromptArguments,
  PromptMessage,
  PromptOutput,
  PromptSpecification,
} from './server/prompt.ts';
export type { Described, Icon } from './protocol/described.ts';
export type { RootsResolver, ServerDefinition } from './server/definition.ts';
export type { IncomingCall, Middleware } from './server/middleware.ts';
export type { Placed, Registry } from './server/registry.ts';
export type { AcceptedBy, ParsedBy, Schema, StandardSchema } from './server/schema.ts';
export type { ContentBlock, ResourceContents } from './protocol/content.ts';
export type { ToolOutput, ToolResult } from './server/content.ts';
export type { HandlerContext, RequestOptions } from './server/handler-context.ts';
export { UrlElicitationRequired } from './server/context/elicitation.ts';
export type {
  FormAnswer,
  UrlAnswer,
  UrlElicitation,
  UrlRequest,
} from './server/context/elicitation.ts';
export type {
  ModelPreferences,
  Sample,
  SamplingBlock,
  SamplingMessage,
  SamplingRequest,
  SamplingTool,
  ToolUse,
  ToolUseResult,
} from './server/context/sampling.ts';
export { logLevels } from './server/context/session-log.ts';
export type {
  HandlerLog,
  LogLevel,
  LogMethod,
  LoggingOptions,
} from './server/context/session-log.ts';
export { causesOf } from './diagnosis/causes.ts';
export type { Cause, Question } from './diagnosis/causes.ts';
export { describeDump, explainDump } from './diagnosis/dump-text.ts';
export type { SessionDump } from './server/session-dump.ts';
export type { SessionHandle, SessionView } from './server/context/session-view.ts';
export { defineForm } from './server/forms/form.ts';
export type {
  ContentOf,
  Form,
  FormProperty,
  FormSchema,
  FormSource,
  TitledConstant,
} from './server/forms/form.ts';
export { keepaliveMachine } from './machines/keepalive.machine.ts';
export type { FromSchema, JsonSchema, ObjectSchema } from './server/json-schema.ts';
export { defaultLimits } from './server/limits.ts';
export type { Limits } from './server/limits.ts';
export { memory } from './server/memory.ts';
export type { MemoryPeer } from './server/memory.ts';
export { fromSdkTransport } from './server/from-sdk-transport.ts';
export { toSdkTransport } from './server/to-sdk-transport.ts';
export type { ClientStreams } from './server/to-sdk-transport.ts';
export type { SdkSendOptions, SdkTransport } from './server/sdk-transport.ts';
export { stdio } from './server/stdio.ts';
export type { StdioStreams } from './server/stdio.ts';
export type { Transport, TransportActors } from './server/transport.ts';
export type { Root, RootsReport, RootsStatus } from './machines/roots-report.ts';
export { rootsMachine } from './machines/roots.machine.ts';
export type { AskInput, AskOutcome } from './machines/roots.machine.ts';
export { sessionMachine } from './machines/session.machine.ts';
export type {
  SessionEmitted,
  SessionEvent,
  SessionInput,
  SessionOutput,
} from './machines/session.machine.ts';
export type {
  CloseCause,
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from './machines/session-ports.ts';
export { classify } from './protocol/classify.ts';
export type { TaskHandle } from './actors/exchange.ts';
export type { Clock } from './actors/clock.ts';
export { ErrorCode, ProtocolError, RuntimeError, ToolError } from './protocol/errors.ts';
export type { RuntimeErrorCode } from './protocol/errors.ts';
export type { Fact, FactLevel, Report } from './actors/facts.ts';
export type { FactName } from './server/facts.ts';
export type {
  InboundFrame,
  JsonObject,
  OutboundFrame,
  RequestId,
  WireError,
} from './protocol/frames.ts';
export type { Dialect, ProgressReport } from './protocol/dialects/dialect.ts';
export type { Implementation } from './protocol/implementation.ts';
export type { ClientDescription } from './protocol/initialize.ts';
export type { Task, TaskStatus, TaskSupport } from './protocol/tasks.ts';
export type { ListedRoot, RootProblem, RootProblemCode } from './protocol/roots.ts';
