/** Lets `mcp-actors doctor` inspect the connections of `call` and `shell`. */
import type { Servers } from 'mcp-actors/client';
import { answerDoctors } from 'mcp-actors/internal';
import { print, withoutHidden } from '../command.ts';
import { describeFailure } from './exit-codes.ts';

/** Starts answering `doctor` queries. */
export function answerDoctor(servers: Servers): void {
  const write = (line: string): boolean => {
    void print(process.stderr, line);
    return true;
  };
  answerDoctors({
    dumps: () => [],
    connections: () => withoutSecrets(dumpConnections(servers)),
    stderr: { write },
    log: { report: ({ message }) => void write(`${message}\n`) },
  });
}

/** Removes secrets, because the dump goes to another process. */
function withoutSecrets<T>(dumps: T): T {
  return JSON.parse(JSON.stringify(dumps), (_, value: unknown) =>
    typeof value === 'string' ? withoutHidden(value) : value,
  ) as T;
}

/** Dumps the state of each server. */
function dumpConnections(servers: Servers) {
  return [...servers.status].map(([name, { state, error, launches }]) => {
    const connection = servers.get(name)?.dump();
    return {
      ...{ name, state, launches },
      ...(error ? { error: describeFailure(error) } : {}),
      ...(connection ? { connection } : {}),
    };
  });
}
