/** The public names. */
export { createMcpServer } from './server/create-server.ts';
export type { ListenOptions, McpServer } from './server/create-server.ts';
export { sessionOf } from './server/session-actor.ts';
export type { SessionImplementations } from './server/session/session-logic.ts';
export type { SessionEnvironment } from './server/session/session-environment.ts';
export type { SessionLogic, SessionLogicInput } from './server/session-actor.ts';
export type { McpSession, SessionOptions, WatchedSession, Watcher } from './server/session.ts';
export type { SessionStreams } from './server/session/session-streams.observable.ts';
export type { TrafficItem } from './server/session/traffic-item.ts';
export type { TrafficListener } from './actors/traffic.ts';
export type { MachineName, MachineTransition, TransitionListener } from './actors/transitions.ts';
export { content } from './server/define/content.ts';
export { defineTool } from './server/define/tool.ts';
export type { ToolAnswer, ToolQuestion } from './server/define/tool-question.ts';
export type {
  DefinedTool,
  ErrorExposure,
  StructuredOutput,
  Tool,
  ToolSpecification,
} from './server/define/tool.ts';
export { defineAppResource } from './server/define/app.ts';
export type {
  AppCsp,
  AppOptions,
  AppPermissions,
  AppResourceSpecification,
} from './server/define/app.ts';
export { appMimeType } from './protocol/apps.ts';
export type { ToolUi, UiVisibility } from './protocol/apps.ts';
export { defineResource, defineResourceTemplate } from './server/define/resource.ts';
export type {
  Complete,
  Filled,
  ReadResult,
  Resource,
  ResourceDescription,
  ResourceTemplate,
  ResourceTemplateSpecification,
  VariablesOf,
} from './server/define/resource.ts';
export { defineSkill } from './server/define/skill.ts';
export type {
  ServedSkillFile,
  Skill,
  SkillFileSource,
  SkillFinder,
  SkillSpecification,
} from './server/define/skill.ts';
export type { SkillFrontmatter } from './protocol/skills.ts';
export type { UriTemplate, Variables } from './server/define/uri-template.ts';
export { definePrompt } from './server/define/prompt.ts';
export type {
  DefinedPrompt,
  Prompt,
  PromptArgument,
  PromptArguments,
  PromptMessage,
  PromptOutput,
  PromptSpecification,
} from './server/define/prompt.ts';
export type { Annotations, Described, Icon, ToolAnnotations } from './protocol/described.ts';
export type { ClosedSession, ServerDefinition } from './server/define/definition.ts';
export type {
  DefinedUpstream,
  Upstream,
  UpstreamClient,
  UpstreamOf,
  UpstreamWatch,
} from './server/define/upstream.ts';
export type { IncomingCall, Middleware } from './server/features/middleware.ts';
export type { Registry, RegistryEntry } from './server/features/registry.ts';
export type { ItemViewer, Visible, VisibleByTag } from './server/define/visible.ts';
export type { SwitchKeeper } from './server/session/session-scope.ts';
export type {
  AcceptedBy,
  ParsedBy,
  Schema,
  StandardSchema,
} from '../packages/schema/src/schema.ts';
export type { ContentBlock, ResourceContents } from './protocol/content.ts';
export type { ToolOutput, ToolResult } from './server/define/tool.ts';
export type {
  ExchangedToken,
  Principal,
  ServedHttpCall,
  ServedHttpRequest,
  TokenWanted,
} from './protocol/request-origin.ts';
export type { HandlerContext, RequestOptions } from './server/context/handler-context.ts';
export { UrlElicitationRequired } from './server/context/elicitation.ts';
export type { UrlElicitation } from './protocol/dialects/dialect.ts';
export type { FormAnswer, UrlAnswer, UrlRequest } from './server/context/elicitation.ts';
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
export { logLevels } from './protocol/log-levels.ts';
export type { LogLevel } from './protocol/log-levels.ts';
export type { CachedKind, Caching, ServerCaching } from './server/define/caching.ts';
export type { HandlerLog, LogMethod, LoggingOptions } from './server/context/session-log.ts';
export { causesOf } from '../packages/diagnostics/src/causes.ts';
export type { Cause, Question } from '../packages/diagnostics/src/causes.ts';
export { describeDump, explainDump } from '../packages/diagnostics/src/dump-text.ts';
export { headlineOf } from '../packages/diagnostics/src/headline.ts';
export type { Headline } from '../packages/diagnostics/src/in-words.ts';
export type { SessionDump } from '../packages/diagnostics/src/session-dump.ts';
export type { SessionHandle, SessionView } from './server/context/session-view.ts';
export { defineForm } from '../packages/schema/src/forms/form.ts';
export type {
  ContentOf,
  Form,
  FormProperty,
  FormSchema,
  FormSource,
  TitledConstant,
} from '../packages/schema/src/forms/form.ts';
export { keepaliveMachine } from './machines/keepalive.machine.ts';
export type { FromSchema, JsonSchema, ObjectSchema } from '../packages/schema/src/json-schema.ts';
export { defaultLimits } from './actors/limits.ts';
export type { Limits } from './actors/limits.ts';
export { memory } from './transports/memory.ts';
export type { MemoryPeer } from './transports/memory.ts';
export { fromSdkTransport } from './transports/from-sdk-transport.ts';
export { toSdkTransport } from './transports/to-sdk-transport.ts';
export type { ClientStreams } from './transports/to-sdk-transport.ts';
export type { SdkSendOptions, SdkTransport } from './transports/sdk-transport.ts';
export { stdio } from './transports/stdio.ts';
export type { StdioStreams } from './transports/stdio.ts';
export type { Transport, TransportActors } from './transports/transport.ts';
export { rootsMachine } from './machines/roots.machine.ts';
export type { AskInput, AskOutcome } from './machines/roots.machine.ts';
export { stateName } from './machines/names.ts';
export { sessionMachine } from './machines/session.machine.ts';
export type { SessionInput } from './machines/session-context.ts';
export type { SessionEmitted, SessionEvent, SessionOutput } from './machines/session.machine.ts';
export type { SessionActorRef, SessionSnapshot, SessionState } from './machines/session-state.ts';
export type { ReaderEvent, ReaderInput, WriterEvent, WriterInput } from './machines/peer-ports.ts';
export type { CloseCause } from './machines/session-ports.ts';
export { classify, messageOf } from './protocol/classify.ts';
export type { MakeOnce, OnceTools, SqlConnection, TaskHandle } from './actors/exchange.ts';
export type { Clock } from './actors/clock.ts';
export { ErrorCode, ProtocolError, RuntimeError, ToolError } from './protocol/errors.ts';
export type { FailedRequest, RuntimeErrorCode } from './protocol/errors.ts';
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
export type { Implementation, ServerStanding } from './protocol/implementation.ts';
export type { PeerDescription } from './protocol/initialize.ts';
export type { Task, TaskStatus, TaskSupport } from './protocol/tasks.ts';
export type { TaskKeeper, TaskKeeperOptions } from '../packages/tasks/src/task-keeper.ts';
export type {
  FoundWrittenTask,
  TaskKeeperFactName,
  TaskRunner,
  TaskWriter,
  WrittenTask,
} from '../packages/tasks/src/written-task.ts';
export type {
  DurableBook,
  DurableTasks,
  RunningTask,
  TaskSession,
} from '../packages/tasks/src/durable-tasks.ts';
export type {
  AnyClaim,
  ClaimRequest,
  ClaimedTasks,
  FoundTask,
  NewTaskRecord,
  TaskChanges,
  TaskClaim,
  TaskRecord,
  TaskShare,
  TaskListRequest,
  TaskProgress,
  TaskStep,
  TaskStore,
  TaskWritten,
} from '../packages/tasks/src/task-store.ts';
export type {
  ListedRoot,
  RootProblem,
  RootProblemCode,
  Root,
  RootsFailure,
  RootsReport,
  RootsResolver,
  RootsStatus,
} from './protocol/roots.ts';
