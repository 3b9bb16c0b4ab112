/** The entry `mcp-actors/bridge`: any server for any host. */
export { bridge } from './bridge.ts';
export type { BridgeOptions } from './bridge.ts';
