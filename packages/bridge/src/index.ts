/** The entry `mcp-actors/bridge`: any server for any host. */
export { bridge } from './bridge.ts';
export { defineUpstream } from './upstreams.ts';
export type { BridgeAuth, ExchangeAuth, PrincipalAuth } from './outward-auth.ts';
export type { Trust } from './tool-guard.ts';
export type { BridgedServers, BridgeOptions } from './bridge.ts';
export type { ToolPolicies } from '../../client/src/hosts/tool-policies.ts';
