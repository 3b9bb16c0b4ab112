/**
 * The levels of log messages to a client.
 *
 * @see MCP 2025-11-25, server/utilities/logging, "Log Levels"
 */

/** Log levels in ascending severity, as in RFC 5424. */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;

/**
 * Severity of a log message, as in RFC 5424.
 *
 * @see MCP 2025-11-25, server/utilities/logging
 */
export type LogLevel = (typeof logLevels)[number];

/** Parses a log level; undefined if invalid. */
export function logLevelOf(name: unknown): LogLevel | undefined {
  return logLevels.find((level) => level === name);
}

/** True if `level` is at least as severe as `least`. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}
