/**
 * `mcp-actors/internal`: what the packages of this repository share with the library beyond its public entries.
 * Nothing here is promised to anyone else. Any release may change it, so each package asks for exactly its own version
 * of the library.
 *
 * It is small, and test/tooling/layers.test.ts keeps it so: a name is here only if a package would have to write it
 * again otherwise, and if no user of the library has a use for it; what users have a use for is public.
 */
// Words and values.
export { systemClock, timeoutSignal } from './actors/clock.ts';
export { BoundedMap } from './protocol/bounded-map.ts';
export { describe, isJsonObject } from './protocol/classify.ts';
export { textOfError } from './protocol/errors.ts';
export { MetaKey } from './protocol/meta.ts';
export { Method } from './protocol/methods.ts';
export { likeness, nearest } from './protocol/nearest.ts';
export { exactNumbers, jsonText, keepNumberTexts, parseExactly } from './protocol/number-text.ts';
export {
  printable,
  printableJson,
  printableLines,
  printableName,
  quoted,
} from './protocol/printable.ts';

// Charts: all that are drawn, and those of what needs no actor.
export { charts } from './charts.ts';
export { closingChart } from './server/closing.machine.ts';
export { pureChart } from './machines/pure-chart.ts';

// What is told of sessions and connections, without what is secret.
export * as inWords from './diagnosis/in-words.ts';
export { redact, redactText } from './diagnosis/redaction.ts';
export { secretsGiven } from './diagnosis/secrets.ts';

// Directories, on a file system of which a dead mount blocks no more than itself.
export { contains } from './roots/boundary.ts';
export { checkDirectory } from './roots/directory-check.ts';
export * as disk from './roots/disk/disk.ts';
export { readFileUri } from './roots/file-uri.ts';
export { whyNoRoots } from './roots/roots-boundary.ts';

// One server of a bridge.
export { BridgedEntry } from './bridge/bridged-entry.ts';

// Processes that are launched, and this one as one that serves.
export { processActor } from './processes/child.actor.ts';
export * as startedAhead from './processes/started-ahead.ts';
export { StderrLog } from './processes/stderr-log.ts';
export { limitTables } from './http/options.ts';
export * as serversLock from './client/hosts/servers-lock.ts';
export { mayBeNamed } from './client/hosts/merged-names.ts';
export { answerDoctors } from './serve/doctor/dump-answer.ts';
export * as doctorExchange from './serve/doctor/exchange.ts';
export * as storedTasks from './serve/stored-tasks.ts';
export { packageVersion } from './serve/package-version.ts';
export { exitProcess } from './serve/process-end.ts';
export { orServed, processLog, startHttp, untilEnd } from './serve/serve.ts';
export { listenOn } from './transports/listen-on.ts';
