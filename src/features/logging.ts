/**
 * logging/setLevel.
 *
 * @see MCP 2025-11-25, server/utilities/logging, "Setting Log Level"
 */
import { describe } from '../protocol/classify.ts';
import { invalidParams } from '../protocol/errors.ts';
import { logLevelOf, logLevels } from '../protocol/log-levels.ts';
import type { LogLevel } from '../protocol/log-levels.ts';
import { sessionOf } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';

/** Lets a client set the level of the log messages that it gets. */
export function loggingFeature(
  setLevel: (session: SessionScope, level: LogLevel) => void,
): Feature {
  return {
    capabilities: { logging: {} },
    handlers: {
      'logging/setLevel': (params, call) => {
        const given = params?.['level'];
        const level = logLevelOf(given);
        if (level === undefined) {
          throw invalidParams(
            `"level" must be one of ${logLevels.join(', ')}; this is ${describe(given)}`,
          );
        }
        setLevel(sessionOf(call), level);
        return {};
      },
    },
  };
}
