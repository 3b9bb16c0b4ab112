/** The session's states, read from the server's log on stderr. */
import { createInterface } from 'node:readline';

interface LogLine {
  readonly event: string;
  readonly message: string;
}

export interface SessionStates {
  /** Resolves once the session has been in this state. */
  reached(state: string): Promise<void>;
}

/** Follows a log at level debug. `onChange` gets each state and each update of the roots. */
export function followStates(
  log: NodeJS.ReadableStream,
  onChange: (what: string) => void,
): SessionStates {
  const seen = new Set<string>();
  const waiting = new Map<string, () => void>();
  createInterface({ input: log }).on('line', (text) => {
    if (!text.startsWith('{"')) return;
    const { event, message } = JSON.parse(text) as LogLine;
    if (event === 'roots.updated') onChange(message);
    if (event !== 'session.state') return;
    seen.add(message);
    onChange(`session: ${message}`);
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
