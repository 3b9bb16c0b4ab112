/** The entry `mcp-actors/bridge`: any server for any host. */
export { bridge } from './bridge.ts';
export { defineUpstream } from './upstreams.ts';
export type { BridgeOptions } from './bridge.ts';
export type { ToolPolicies } from '../../client/src/hosts/tool-policies.ts';
