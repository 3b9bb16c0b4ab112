/** Public entry `@mcp-actors/openapi`: tools from the operations of an OpenAPI document. */
export { toolsFromOpenApi } from './openapi-tools.ts';
export type { DocumentWarning, OpenApiOptions, OperationFilter } from './openapi-tools.ts';
export type { ApiCredentials, ApiValues } from './api-call.ts';
export type { Operation, UnusableOperation } from './operations.ts';
