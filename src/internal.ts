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

// Charts: all that are drawn, and those of what needs no actor.
export { charts } from './charts.ts';
export { closingChart } from './server/closing.machine.ts';
export { pureChart } from './machines/pure-chart.ts';

// What is told of sessions and connections, without what is secret.
export * as inWords from '../packages/diagnostics/src/format.ts';
export { redact, redactText } from '../packages/diagnostics/src/redaction.ts';
export { secretsGiven } from '../packages/diagnostics/src/secrets.ts';

// Directories, on a file system of which a dead mount blocks no more than itself.
export { contains } from '../packages/roots/src/boundary.ts';
export { checkDirectory } from '../packages/roots/src/directory-check.ts';
export * as disk from '../packages/roots/src/disk/disk.ts';
export { readFileUri } from '../packages/roots/src/file-uri.ts';
export { explainNoRoots } from '../packages/roots/src/roots-boundary.ts';

// One server of a bridge.
export { BridgedEntry } from '../packages/bridge/src/bridged-entry.ts';

// Processes that are launched, and this one as one that serves.
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

// Types that only the packages annotate with.
export type { MachineName } from './actors/transitions.ts';
export type { SkillFinder } from './server/define/skill.ts';
export type { UpstreamWatch } from './server/define/upstream.ts';
export type { ServerWithOptions, ServerUse } from '../packages/http/src/options.ts';
