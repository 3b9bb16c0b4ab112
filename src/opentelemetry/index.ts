/** OpenTelemetry for a server: `mcp-actors/opentelemetry`. Needs `@opentelemetry/api`, which is an optional peer dependency. */
export { openTelemetry } from './open-telemetry.ts';
export type { OpenTelemetryOptions } from './open-telemetry.ts';
export { sessionDurations } from './session-durations.ts';
export type { SessionDurationsOptions } from './session-durations.ts';
