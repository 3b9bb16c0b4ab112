/**
 * OpenTelemetry for a server: `mcp-actors/opentelemetry`. It needs `@opentelemetry/api`, an
 * optional peer dependency.
 */
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
export { sessionDurations } from './durations.ts';
export type { SessionDurationsOptions } from './durations.ts';
