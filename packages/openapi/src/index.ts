/** The names of `@mcp-actors/openapi`: makes tools of the operations of an OpenAPI document. */
export { toolsFromOpenApi } from './openapi-tools.ts';
export type { DocumentWarning, OpenApiOptions, OperationFilter } from './openapi-tools.ts';
export type { ApiCredentials, ApiValues } from './api-call.ts';
export type { Operation, Unusable } from './operations.ts';
