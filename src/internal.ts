/**
 * `mcp-actors/internal`: shared with this repository's packages only. Not a public API: any release
 * may change it, so each package depends on exactly its own version of the library.
 *
 * Add a name only if a package would otherwise duplicate it and users have no need for it; whatever
 * users need is public. test/tooling/layers.test.ts enforces this.
 */
// Text and values.
export { systemClock, timeoutSignal } from './actors/clock.ts';
export { BoundedMap } from './protocol/bounded-map.ts';
export { inspectValue, isJsonObject } from './protocol/classify.ts';
export { textOfError } from './protocol/errors.ts';
export { MetaKey } from './protocol/meta.ts';
export { Method } from './protocol/methods.ts';
export { similarity, closestMatch } from './protocol/suggestions.ts';
export { exactNumbers, jsonText, keepNumberTexts, parseExactly } from './protocol/number-text.ts';
export {
  printable,
  printableJson,
  printableLines,
  printableName,
  quoted,
} from './protocol/printable.ts';

// Charts.
export { charts } from './charts.ts';
export { closingChart } from './server/closing.machine.ts';
export { pureChart } from './machines/pure-chart.ts';

// Descriptions of sessions and connections, with secrets redacted.
export * as inWords from '../packages/diagnostics/src/format.ts';
export { redact, redactText } from '../packages/diagnostics/src/redaction.ts';
export { secretsGiven } from '../packages/diagnostics/src/secrets.ts';

// Directories. A dead mount blocks only its own operations.
export { contains } from '../packages/roots/src/boundary.ts';
export { checkDirectory } from '../packages/roots/src/directory-check.ts';
export * as disk from '../packages/roots/src/disk/disk.ts';
export { readFileUri } from '../packages/roots/src/file-uri.ts';
export { explainNoRoots } from '../packages/roots/src/roots-boundary.ts';

// Bridged servers.
export { BridgedEntry } from '../packages/bridge/src/bridged-entry.ts';

// Child processes, and this process as a server.
export { processActor } from '../packages/processes/src/child.actor.ts';
export * as prestart from '../packages/processes/src/prestart.ts';
export { StderrLog } from '../packages/processes/src/stderr-log.ts';
export { limitTables } from '../packages/http/src/options.ts';
export * as serversLock from '../packages/client/src/hosts/servers-lock.ts';
export { mayBeNamed } from '../packages/client/src/hosts/merged-names.ts';
export { answerDoctors } from '../packages/serve/src/doctor/dump-answer.ts';
export * as doctorExchange from '../packages/serve/src/doctor/exchange.ts';
export * as storedTasks from '../packages/serve/src/stored-tasks.ts';
export { packageVersion } from '../packages/serve/src/package-version.ts';
export { exitProcess } from '../packages/serve/src/process-end.ts';
export { processLog, waitForExit } from '../packages/serve/src/serve.ts';
export * as serving from '../packages/serve/src/serve.ts';
export * as supervisor from '../packages/serve/src/supervisor/supervise.ts';
export { listenOn } from './transports/listen-on.ts';

// Types for annotations.
export type { MachineName } from './actors/transitions.ts';
export type { SkillFinder } from './server/define/skill.ts';
export type { UpstreamWatch } from './server/define/upstream.ts';
export type { ServerWithOptions, ServerUse } from '../packages/http/src/options.ts';
