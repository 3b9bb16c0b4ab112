/**
 * Runs the broken server in this process. Results do not depend on where it runs, and starting a
 * process takes time.
 */
import type { Launch } from '../src/server-process.ts';
import { TestClock, flush } from 'mcp-actors/testing';
import { brokenServer } from './broken-server.mjs';

/** @param movesTime true if the server's clock only advances with the play */
export function launchInside(faults: readonly string[], movesTime = false): Launch {
  return (listener) => {
    const clock = movesTime ? new TestClock() : undefined;
    let state: 'running' | 'ended' = 'running';
    // Like a pipe, deliver in a later turn.
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
