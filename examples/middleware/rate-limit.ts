import { ErrorCode, ProtocolError } from 'mcp-actors';
import type { Middleware } from 'mcp-actors';

/** Limits the average rate, and the burst size, of all sessions together. */
export function rateLimit(perSecond: number, now = () => performance.now()): Middleware {
  let tokens = perSecond;
  let filledAtMs = now();
  return (_call, next) => {
    const nowMs = now();
    tokens = Math.min(perSecond, tokens + ((nowMs - filledAtMs) / 1000) * perSecond);
    filledAtMs = nowMs;
    if (tokens < 1) {
      const data = { reason: 'rate-limit', retryable: true };
      throw new ProtocolError(ErrorCode.serverUnavailable, 'Too many requests: slow down', data);
    }
    tokens -= 1;
    return next();
  };
}
