/** The host's side: connections to MCP servers as actors. */
export { ProtocolError, RuntimeError } from '../../../src/protocol/errors.ts';
export type { RuntimeErrorCode } from '../../../src/protocol/errors.ts';
export { errorOf as errorOfLoss } from '../../../src/protocol/losses.ts';
export { connect } from './connect.ts';
export { connectionLogic, openConnection } from './any-channel.ts';
export type { HttpDispatcher } from './http/dispatched.ts';
export type { ConnectOptions } from './connect-options.ts';
export type { ConnectionLogicInput } from './any-channel.ts';
export { memoryCredentialStore } from './auth/credential-store.ts';
export type { CredentialStore } from './auth/credential-store.ts';
export { logOut, logins } from './auth/logins.ts';
export type { Login, LogoutOutcome } from './auth/logins.ts';
export { fileCredentialStore } from './auth/file-store.ts';
export type { FileStoreOptions } from './auth/file-store.ts';
export type {
  AuthOption,
  BearerAuth,
  ClientCredentialsAuth,
  LoginPrompt,
  PersonAuth,
  StoredAuth,
} from './auth/options.ts';
export { connectionOf } from './connection/open-connection.ts';
export type { ConnectionLogic } from './connection/open-connection.ts';
export type { Connection, ListOptions } from './connection/connection.ts';
export type {
  ConnectionEvent,
  ConnectionState,
  ConnectionStreams,
  ServerProfile,
} from './connection/connection-streams.observable.ts';
export type { DevicePrompt } from './channel/connection-ports.ts';
export type { ConnectionWatcher, WatchedConnection } from './connection/watched-connection.ts';
export type { ConnectionDump, ListDump } from '../../diagnostics/src/connection-dump.ts';
export { defaultConnectionLimits } from './connection/limits.ts';
export type { ConnectionLimits } from './connection/limits.ts';
export type {
  CommandEntry,
  HostRequestOptions,
  ServerEntry,
  TransportEntry,
  RegisteredClient,
  UrlEntry,
} from './connection/options.ts';
export type { ToolTask, ToolTaskStatus } from './connection/tool-task.observable.ts';
export type { TaskOptions } from './connection/tool-tasks.ts';
export { sdkTransport } from './stdio/process-transport.ts';
export type { ProcessTransport, ProcessTransportOptions } from './stdio/process-transport.ts';
export { networkVariables } from '../../processes/src/environment.ts';
export { connectAll, openConfig, openServers } from './connect-all.ts';
export type { ServersOptions } from './connect-all.ts';
export type { ConfigChanges } from './hosts/config-changes.ts';
export { textOfFault } from './hosts/config-fault.ts';
export type { ConfigFault } from './hosts/config-fault.ts';
export { readHosts, readHostsFile } from './hosts/hosts-file.ts';
export type { HostsConfig, ReadHostsOptions } from './hosts/hosts-file.ts';
export { readLockFile } from './hosts/servers-lock.ts';
export type { LockedServer, LockedTool, ServersLock } from './hosts/servers-lock.ts';
export { faultOfInput, formFields } from './asked/form-answer.ts';
export type { FormDescription, FormField } from '../../../src/protocol/form.ts';
export type {
  FoundTool,
  MergedTool,
  ServerStatus,
  ServersEvent,
  Startup,
} from './hosts/server-reports.ts';
export { toolsForAiSdk } from './hosts/ai-sdk-tools.ts';
export type { AiSdkFunctions, AiSdkTool } from './hosts/ai-sdk-tools.ts';
export type { Servers } from './hosts/servers.ts';
export type { ServersStreams } from './hosts/servers-streams.observable.ts';
export type { Loss } from '../../../src/protocol/losses.ts';
export type { ConnectionEmitted } from './connection/connection-events.ts';
export type { Era } from './connection/connection-context.ts';
export type { RestartPolicy, RestartTimes } from './channel/restart-policy.ts';
export type { RestartOption } from './channel/restart-option.ts';
export type {
  Asked,
  ElicitAnswer,
  ElicitProvider,
  FormProvider,
  Providers,
  ProvidedRoot,
  RootsProvider,
  SampleAnswer,
  SampleProvider,
  UrlProvider,
} from './asked/providers.ts';
export type {
  CallToolResult,
  CompletionRequest,
  GetPromptResult,
  ListReport,
  ListStanding,
  ReadResourceResult,
} from './lists/offered.ts';
export type { ServerSkills, SkillContents, SkillRequestOptions } from './lists/skills.ts';
export type { ListedSkill, SkillFile, SkillFrontmatter } from '../../../src/protocol/skills.ts';
export type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../src/protocol/listed.ts';
