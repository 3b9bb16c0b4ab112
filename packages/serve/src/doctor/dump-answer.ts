/**
 * Answers SIGUSR2, or a line on a named pipe where that signal is missing, with what the process
 * waits for. Costs one listener until then.
 */
import { setImmediate } from 'node:timers/promises';
import type { HostedDump } from '../../../diagnostics/src/connections-text.ts';
import type { SessionDump } from '../../../diagnostics/src/session-dump.ts';
import type { ServedEndpoint } from '../../../diagnostics/src/sessions-text.ts';
import type { CommandFact, Log } from '../../../diagnostics/src/log/log.ts';
import type { LineSink } from '../../../diagnostics/src/log/log.ts';
import type { Platform } from '../../../processes/src/platform.ts';
import { thisPlatform } from '../../../processes/src/platforms.ts';
import { textOfError } from '../../../../src/protocol/errors.ts';
import type { ServingState } from './answer.ts';

export interface DumpAnswerOptions {
  /** Dumps of all open sessions. */
  dumps(): readonly SessionDump[];
  /** HTTP endpoint and its session limit, if any. */
  readonly endpoint?: ServedEndpoint | undefined;
  /** Connections of a process that is a client. */
  connections?(): readonly HostedDump[];
  /** Output for a signal without a `doctor`. */
  readonly stderr: Pick<LineSink, 'write'>;
  readonly log: Pick<Log, 'report'>;
}

/** Starts answering `mcp-actors doctor`. SIGUSR2 without one is answered on stderr. */
export function answerDoctors(
  source: DumpAnswerOptions,
  host: Pick<NodeJS.Process, 'on'> = process,
  { pipes }: Pick<Platform, 'pipes'> = thisPlatform,
): void {
  if (pipes === undefined) return void host.on('SIGUSR2', () => void answer(source));
  void telling(source.log, async () => {
    // Do not delay the first answer to the host.
    await setImmediate(undefined, { ref: false });
    const { answerOnPipe } = await import('./standing-pipe.ts');
    await answerOnPipe(pipes, () => stateOf(source));
  });
}

const stateOf = ({ dumps, endpoint, connections }: DumpAnswerOptions): ServingState => ({
  dumps: dumps(),
  endpoint,
  connections: connections?.(),
});

function answer(source: DumpAnswerOptions): Promise<void> {
  return telling(source.log, async () => {
    const { answerSignal } = await import('./answer.ts');
    await answerSignal(stateOf(source), source.stderr);
  });
}

/** Reports failures without stopping the server. */
async function telling(log: DumpAnswerOptions['log'], tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    log.report({
      level: 'error',
      name: 'dump.failed',
      message: `The dump for doctor failed: ${textOfError(error)}`,
      details: { error },
    } satisfies CommandFact);
  }
}
