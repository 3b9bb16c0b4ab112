/**
 * `mcp-actors/internal`: what the packages of this repository share with the library beyond its public entries.
 * Nothing here is promised to anyone else. Any release may change it, so each package asks for exactly its own version
 * of the library.
 */
// Words and values.
export { systemClock } from './actors/clock.ts';
export { BoundedMap } from './protocol/bounded-map.ts';
export { limitTable } from './actors/limits.ts';
export type { LimitRow } from './actors/limits.ts';
export { isMachine } from './actors/transitions.ts';
export { describe, isJsonObject, isRequestId, messageOf } from './protocol/classify.ts';
export { textBlock } from './protocol/content.ts';
export {
  handshakeVersions,
  negotiateDialect,
  statelessVersions,
} from './protocol/dialects/registry.ts';
export { textOfError } from './protocol/errors.ts';
export type { FormField } from './protocol/form.ts';
export type { InboundNotification, InboundRequest } from './protocol/frames.ts';
export { MetaKey } from './protocol/meta.ts';
export { Method } from './protocol/methods.ts';
export { leastLikeness, likeness, nearest } from './protocol/nearest.ts';
export {
  printable,
  printableJson,
  printableLines,
  printableName,
  printableText,
  quoted,
} from './protocol/printable.ts';
export { faultOfValue, stepsForStranger } from './schema/forms/field-value.ts';
export { readForm } from './schema/forms/read-form.ts';
export { AddressError } from './transports/listen-on.ts';

// What is told of sessions and connections, without what is secret.
export { connectionHeadline } from './diagnosis/connection-headline.ts';
export type { HostedDump } from './diagnosis/connections-text.ts';
export { secretsGiven, withoutGiven } from './diagnosis/secrets.ts';
export type { ServedEndpoint } from './diagnosis/sessions-text.ts';
export { humanForm, jsonForm } from './log/log-line.ts';
export { createLog, logVerbosities } from './log/log.ts';
export type { CommandFact, LineSink, Log } from './log/log.ts';
export { defaultRecordingBytes } from './recording/format.ts';
export { lineText } from './recording/replay/difference.ts';

// Charts of what needs no actor.
export { closingChart } from './machines/closing.machine.ts';
export { pureChart } from './machines/pure-chart.ts';

// Directories and paths inside them, on a file system of which a dead mount blocks no more than itself.
export { contains } from './roots/boundary.ts';
export { checkDirectory } from './roots/directory-check.ts';
export type { DirectoryCheck } from './roots/directory-check.ts';
export { lstat, readDirectories, readNames, stat } from './roots/disk/disk.ts';
export { fsFault, systemCode } from './roots/disk/fs-fault.ts';
export { readFileUri } from './roots/file-uri.ts';
export { openerOf } from './roots/open-inside.ts';
export type { FileOpener } from './roots/open-inside.ts';
export { readBytes } from './roots/open-inside.ts';
export { assertRootAvailable, openRoot } from './roots/root-directory.ts';
export { whyNoRoots } from './roots/roots-boundary.ts';

// A process that is launched, of which nothing is left when it ends.
export { stopTimesWith } from './machines/process.machine.ts';
export type { ExitStatus } from './machines/process.machine.ts';
export type { ChildScope, ProcessActor } from './processes/child.actor.ts';
export type { ServerCommand } from './processes/command.ts';
export { environmentFor } from './processes/environment.ts';
export { processActor } from './processes/child.actor.ts';
export { StderrLog } from './processes/stderr-log.ts';

// This process as one that serves, and how others ask it.
export { httpLimitTable } from './http/options.ts';
export { dumpOnSignal } from './serve/doctor/dump-signal.ts';
export {
  announcedAt,
  exchangeDirectory,
  openExchange,
  removeStaleMarks,
  socketPath,
  startOf,
  userId,
} from './serve/doctor/exchange.ts';
export type { DoctorAnswer } from './serve/doctor/exchange.ts';
export { packageVersion } from './serve/package-version.ts';
export { exitProcess, serveToEnd, signalDrainTimeoutMs } from './serve/process-end.ts';
export type { Ending } from './serve/process-end.ts';
export { endingOf } from './serve/serve.ts';
export { streamSink } from './serve/serve.ts';
export { orServed } from './serve/serve.ts';

// A host's connections from a terminal.
export type { FormProvider, UrlProvider } from './client/asked/providers.ts';
export { defaultVisitMs } from './client/auth/options.ts';
export { openConfig, openFile } from './client/connect-all.ts';
export { textOfFault } from './client/hosts/config-fault.ts';
export { readHosts, readHostsFile } from './client/hosts/hosts-file.ts';
export type { HostsConfig } from './client/hosts/hosts-file.ts';
export { mayBeNamed } from './client/hosts/merged-names.ts';
export type { ManagedOptions } from './client/hosts/servers.ts';
// The machines, what one may see of them and of the messages, and the words for what a session waits for.
export { charts } from './machines/charts.ts';
export { stateName } from './machines/state-name.ts';
export { readableEvent } from './machines/xstate-events.ts';
export type { Traffic } from './actors/traffic.ts';
export type { Transitions } from './actors/transitions.ts';
export { isShared } from './diagnosis/causes.ts';
export { headlineOf, isHeldUp } from './diagnosis/headline.ts';
export { httpStateInWords } from './diagnosis/http-text.ts';
export { countInWords, deferredRoots, heardInWords, sizeInWords } from './diagnosis/in-words.ts';
export type { Headline } from './diagnosis/in-words.ts';
export { isStanding } from './diagnosis/peer-dump.ts';
export type { CallDump, PeerDump, PendingDump } from './diagnosis/peer-dump.ts';
export { redact, redactText } from './diagnosis/redaction.ts';
export { listenOn } from './transports/listen-on.ts';
