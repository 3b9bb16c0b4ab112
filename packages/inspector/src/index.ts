/** The names of `@mcp-actors/inspector`: look at sessions and connections. For Node. */
export { inspectPage } from './inspect-page.ts';
export type { InspectPageOptions, InspectedPage } from './inspect-page.ts';
export { inspectStately } from './stately/inspect-stately.ts';
export type { InspectStatelyOptions, StatelyInspection } from './stately/inspect-stately.ts';
