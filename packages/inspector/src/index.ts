/** Public entry `@mcp-actors/inspector`, for Node: live views of sessions and connections. */
export { inspectPage } from './inspect-page.ts';
export type { InspectPageOptions, InspectedPage } from './inspect-page.ts';
export { inspectStately } from './stately/inspect-stately.ts';
export type { InspectStatelyOptions, StatelyInspection } from './stately/inspect-stately.ts';
