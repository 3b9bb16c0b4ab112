/** `mcp-actors doctor` shows the connections of `call` and `shell` too. */
import type { Servers } from 'mcp-actors/client';
import { answerDoctors } from 'mcp-actors/internal';
import { print, withoutHidden } from '../command.ts';
import { textOfFailure } from './exit-codes.ts';

/** Answers doctors from now on. */
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

/** The dump travels to another process, too. */
function withoutSecrets<T>(dumps: T): T {
  return JSON.parse(JSON.stringify(dumps), (_, value: unknown) =>
    typeof value === 'string' ? withoutHidden(value) : value,
  ) as T;
}

/** The state of each server. */
function dumpConnections(servers: Servers) {
  return [...servers.status].map(([name, { state, error, launches }]) => {
    const connection = servers.get(name)?.dump();
    return {
      ...{ name, state, launches },
      ...(error ? { error: textOfFailure(error) } : {}),
      ...(connection ? { connection } : {}),
    };
  });
}
