/**
 * Public entry `@mcp-actors/checker`: plays a client against any server and reports broken
 * invariants.
 */
export { ServerStartError, checkServer } from './check-server.ts';
export type { CheckReport } from './check-report.ts';
export { hasStreamableHttp } from './invariants/http.ts';
export type { Invariant } from './invariants/invariant.ts';
export { statelessInvariants } from './invariants/modern.ts';
export { onlyOverHttp } from './invariants/over-http.ts';
export { invariants } from './invariants/tally.ts';
export { revisions } from './outgoing.ts';
export { moveHelp, parseSequence } from './move.ts';
export type { MoveSequence } from './move.ts';
export { breaksMust, reportJson, reportText } from './report-text.ts';
export { makeRootsFolder } from './roots-folder.ts';
export type { RootsFolder } from './roots-folder.ts';
export { launchHttp } from './http/http-wire.ts';
export { launchProcess } from './server-process.ts';
export type { Launch } from './server-process.ts';
