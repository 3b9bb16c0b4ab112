/** A host's servers that are launched as processes. */
import type { Demands } from './demands.ts';

export const hostProcesses: Demands = {
  'MCP 2025-11-25, basic/lifecycle, "Shutdown"': {
    'PROC-01':
      'A server is ended by the end of its input; if it has not ended in time by SIGTERM, and then by SIGKILL.',
  },
  'MCP 2025-11-25, basic/transports, "stdio"': {
    'PROC-02':
      'What a server writes to its standard error is read and counted, its last 64 KiB are kept, and it is never taken for a failure.',
    'PROC-10': 'The input of a server has messages alone, each in a line of its own.',
  },
  'MCP 2026-07-28, basic/index, "Statelessness"': {
    'PROC-11': 'One process serves all that a connection asks.',
  },
  ours: {
    'PROC-03': 'When a process is said to be gone, nobody is left of its group.',
    'PROC-04':
      'A process has ended when it exits, whoever holds its pipes; what it has left in them is read first.',
    'PROC-05':
      'A host that ends, however it does, leaves no server and nothing that one has started.',
    'PROC-06': 'A process inherits an allow-list, and beside it what is asked for.',
    'PROC-07': 'A command that cannot be started is told as such, with what is wrong and where.',
    'PROC-08': 'What the terminal sends to the host does not reach its servers.',
    'PROC-09': 'No shell reads a command or its arguments.',
    'RESTART-01':
      'New attempts are further and further apart, and of a process there are only so many.',
  },
};
