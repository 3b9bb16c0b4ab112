/** The end of a session that is due. */
import type { CloseCause } from '../../machines/session-ports.ts';
import type { McpSession } from '../../server/session.ts';

/** Why a session has ended; undefined where it has not within this time, real milliseconds. */
export function endedWithin(
  { closed }: McpSession,
  patienceMs: number,
): Promise<CloseCause | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), patienceMs);
    void closed.then((cause) => {
      clearTimeout(timer);
      resolve(cause);
    });
  });
}
