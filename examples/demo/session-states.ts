/** The session's states, as the server's log tells them on stderr. */
import { createInterface } from 'node:readline';

interface LogLine {
  readonly event: string;
  readonly message: string;
}

export interface SessionStates {
  /** Resolves once the session has been in this state. */
  reached(state: string): Promise<void>;
}

/** Follows a log at level debug; `onState` hears of each state as it comes. */
export function followStates(
  log: NodeJS.ReadableStream,
  onState: (state: string) => void,
): SessionStates {
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  createInterface({ input: log }).on('line', (text) => {
    if (!text.startsWith('{"')) return;
    const { event, message } = JSON.parse(text) as LogLine;
    if (event !== 'session.state') return;
    seen.add(message);
    onState(message);
    waiting.get(message)?.();
  });
  return {
    reached: (state) =>
      new Promise((resolve) => {
        if (seen.has(state)) resolve();
        else waiting.set(state, resolve);
      }),
  };
}
