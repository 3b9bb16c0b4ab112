/**
 * logging/setLevel.
 *
 * @see MCP 2025-11-25, server/utilities/logging, "Setting Log Level"
 */
import { describe } from '../../protocol/classify.ts';
import { ErrorCode, ProtocolError } from '../../protocol/errors.ts';
import { logLevels } from '../context/session-log.ts';
import type { SessionLog } from '../context/session-log.ts';
import type { Feature } from './feature.ts';

/** The client's say in what it hears of a session's log. */
export function loggingFeature(log: SessionLog): Feature {
  return {
    capabilities: { logging: {} },
    handlers: {
      'logging/setLevel': (params) => {
        const given = params?.['level'];
        const level = logLevels.find((each) => each === given);
        if (level === undefined) {
          const message = `Invalid params: "level" must be one of ${logLevels.join(', ')}; this is ${describe(given)}`;
          throw new ProtocolError(ErrorCode.invalidParams, message);
        }
        log.setLevel(level);
        return {};
      },
    },
    stop: () => log.stop(),
  };
}
