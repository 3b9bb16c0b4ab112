/**
 * `mcp-actors/opentelemetry`: OpenTelemetry for a server. Requires the optional peer dependency
 * `@opentelemetry/api`.
 */
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
export { sessionDurations } from './durations.ts';
export type { SessionDurationsOptions } from './durations.ts';
