/** Exit codes of `mcp-actors call`. */
import { textOfError } from 'mcp-actors/internal';
import { ProtocolError, RuntimeError } from 'mcp-actors';

export const ExitCode = {
  done: 0,
  /** The tool's result has `isError`, or the server answered with an error. */
  toolFailed: 1,
  usage: 2,
  /** The connection failed or was lost before the answer. */
  notConnected: 3,
  timeout: 4,
  unauthorized: 5,
  /** Ctrl-C: 128 plus the signal's number, as in shells. */
  interrupted: 130,
} as const;

/** Exit code of a failed call. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof ProtocolError) return ExitCode.toolFailed;
  if (!(error instanceof RuntimeError)) return ExitCode.notConnected;
  switch (error.code) {
    case 'REQUEST_TIMEOUT':
    case 'CONNECT_TIMEOUT':
      return ExitCode.timeout;
    case 'UNAUTHORIZED':
      return ExitCode.unauthorized;
    case 'CANCELLED':
      return ExitCode.interrupted;
    case 'CONFIG_INVALID':
      return ExitCode.usage;
    default:
      return ExitCode.notConnected;
  }
}

/** Describes a failure in one or more lines. */
export function describeFailure(error: unknown): string {
  if (error instanceof ProtocolError) {
    return `The server answered with an error: ${error.message} (${error.code})`;
  }
  return error instanceof RuntimeError ? error.message : textOfError(error);
}
