/**
 * The levels of log messages to a client.
 *
 * @see MCP 2025-11-25, server/utilities/logging, "Log Levels"
 */

/** From the least severe to the most, as in RFC 5424. */
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
 * How severe a log message is, as in RFC 5424.
 *
 * @see MCP 2025-11-25, server/utilities/logging
 */
export type LogLevel = (typeof logLevels)[number];

/** The level with this name; undefined if there is none. */
export function logLevelOf(name: unknown): LogLevel | undefined {
  return logLevels.find((level) => level === name);
}

/** True if a message of this level is at least as severe as that one. */
export function isAtLeast(level: LogLevel, least: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(least);
}
