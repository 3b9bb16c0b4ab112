/** `mcp-actors doctor` shows the connections of `call` and `shell` too. */
import { systemClock } from '../../actors/clock.ts';
import type { Servers } from '../../client/hosts/servers.ts';
import type { ConnectionDump } from '../../diagnosis/connections-text.ts';
import { dumpOnSignal } from '../doctor/dump-signal.ts';
import { textOfFailure } from './exit-codes.ts';

/** Answers SIGUSR2 from now on. */
export function answerDoctor(servers: Servers): void {
  const write = (line: string): boolean => process.stderr.write(line);
  dumpOnSignal({
    dumps: () => [],
    connections: () => dumpConnections(servers),
    stderr: { write },
    log: { report: ({ message }) => void write(`${message}\n`) },
  });
}

/** Where each server stands. */
function dumpConnections(servers: Servers): readonly ConnectionDump[] {
  return [...servers.status].map(([name, { state, error, launches }]) => {
    const connection = servers.get(name);
    const { since, attempt = 0, delayMs } = connection?.state ?? {};
    const server = connection?.server;
    return {
      name,
      state,
      attempt,
      pending: connection?.pending ?? 0,
      launches,
      ...(since === undefined ? {} : { sinceMs: systemClock.now() - since }),
      ...(delayMs === undefined ? {} : { delayMs }),
      ...(server ? { server: { ...nameOf(server.info), revision: server.revision } } : {}),
      ...(error ? { error: textOfFailure(error) } : {}),
    };
  });
}

const nameOf = ({ name, version }: { readonly name: string; readonly version: string }) => ({
  name,
  version,
});
