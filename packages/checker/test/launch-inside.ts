/** The broken server in this process: what a play shows does not depend on where the server runs, and a process costs time. */
import type { Launch } from '../src/server-process.ts';
import { TestClock, flush } from 'mcp-actors/testing';
import { brokenServer } from './broken-server.mjs';

/** @param movesTime the server's time passes only as the play moves it */
export function launchInside(faults: readonly string[], movesTime = false): Launch {
  return (listener) => {
    const clock = movesTime ? new TestClock() : undefined;
    let state: 'running' | 'ended' = 'running';
    // As over a pipe, nothing is heard before the next turn.
    const later = (action: () => void) => setImmediate(action);
    const exit = (code: number | null, signal: string | null = null) => {
      if (state === 'ended') return;
      state = 'ended';
      later(() => listener.ended({ code, signal }));
    };
    const server = brokenServer(faults, {
      write: (text) => {
        if (state === 'ended') return;
        for (const line of text.split('\n').slice(0, -1)) later(() => listener.line(line));
      },
      exit: (code) => exit(code),
      ...(clock ? { clock } : {}),
    });
    return {
      send: (text) => {
        later(() => {
          if (state === 'running') server.receive(text);
        });
      },
      end: () => later(() => server.end()),
      kill: () => exit(null, 'SIGKILL'),
      ...(clock
        ? {
            passTime: async (durationMs) => {
              clock.increment(durationMs);
              await flush();
            },
          }
        : {}),
    };
  };
}
