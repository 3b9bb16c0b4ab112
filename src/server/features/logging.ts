/**
 * `logging/setLevel`.
 *
 * @see MCP 2025-11-25, server/utilities/logging, "Setting Log Level"
 */
import { inspectValue } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import { logLevelOf, logLevels } from '../../protocol/log-levels.ts';
import { scopeOfCall } from '../session/session-scope.ts';
import type { Feature } from './feature.ts';

/** Lets a client set its log level. */
export const loggingFeature: Feature = {
  capabilities: { logging: {} },
  handlers: {
    'logging/setLevel': (params, call) => {
      const given = params?.['level'];
      const level = logLevelOf(given);
      if (level === undefined) {
        throw invalidParams(
          `"level" must be one of ${logLevels.join(', ')}, got ${inspectValue(given)}`,
        );
      }
      scopeOfCall(call).log.setLevel(level);
      return {};
    },
  },
};
