/** Client side: connections to MCP servers as actors. */
export { ProtocolError, RuntimeError } from '../../../src/protocol/errors.ts';
export { disconnectError } from '../../../src/protocol/disconnects.ts';
export { connect } from './connect.ts';
export { connectionLogic, openConnection } from './any-channel.ts';
export type { HttpDispatcher } from './http/dispatched.ts';
export type { ConnectOptions } from './connect-options.ts';
export type { ConnectionLogicInput } from './any-channel.ts';
export { memoryCredentialStore } from './auth/credential-store.ts';
export type { CredentialStore } from './auth/credential-store.ts';
export { logOut, logins } from './auth/logins.ts';
export type { Login } from './auth/logins.ts';
export { fileCredentialStore } from './auth/file-store.ts';
export type { FileStoreOptions } from './auth/file-store.ts';
export type { LoginPrompt, PersonAuth } from './auth/options.ts';
export { connectionOf } from './connection/open-connection.ts';
export type { Connection } from './connection/connection.ts';
export type {
  ConnectionEvent,
  ConnectionState,
  ServerProfile,
} from './connection/connection-streams.observable.ts';
export type { ConnectionWatcher, WatchedConnection } from './connection/watched-connection.ts';
export type { ConnectionDump } from '../../diagnostics/src/connection-dump.ts';
export { defaultConnectionLimits } from './connection/limits.ts';
export type { ConnectionLimits } from './connection/limits.ts';
export type { HostRequestOptions, ServerEntry, RegisteredClient } from './connection/options.ts';
export type { ToolTask, ToolTaskStatus } from './connection/tool-task.observable.ts';
export { sdkTransport } from './stdio/process-transport.ts';
export type { ProcessTransportOptions } from './stdio/process-transport.ts';
export { networkVariables } from '../../processes/src/environment.ts';
export { connectAll, openConfig, openServers } from './connect-all.ts';
export type { ServersOptions } from './connect-all.ts';
export { formatConfigProblem } from './hosts/config-problem.ts';
export type { ConfigProblem } from './hosts/config-problem.ts';
export { readHosts, readHostsFile } from './hosts/hosts-file.ts';
export type { HostsConfig, ReadHostsOptions } from './hosts/hosts-file.ts';
export { readLockFile } from './hosts/servers-lock.ts';
export { validateInput, formFields } from './asked/form-answer.ts';
export type { FormField } from '../../../src/protocol/form.ts';
export type { FoundTool, MergedTool, ServerStatus, ServersEvent } from './hosts/server-reports.ts';
export { toolsForAiSdk } from './hosts/ai-sdk-tools.ts';
export type { Servers } from './hosts/servers.ts';
export type { ConnectionLoss } from '../../../src/protocol/disconnects.ts';
export type { Era } from './connection/connection-context.ts';
export type {
  ElicitAnswer,
  ElicitProvider,
  FormProvider,
  ProvidedRoot,
  SampleProvider,
  UrlProvider,
} from './asked/providers.ts';
export type {
  CallToolResult,
  GetPromptResult,
  ListReport,
  ReadResourceResult,
} from './lists/list-results.ts';
export type { ListedSkill } from '../../../src/protocol/skills.ts';
export type {
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../src/protocol/list-items.ts';
