/**
 * SIGUSR2 asks a serving process what it waits for. If the system has no such signal, a line on its own
 * pipe does. Until then, this costs one listener.
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
  /** One dump for each open session. */
  dumps(): readonly SessionDump[];
  /** Where it serves, and how many sessions may be open, if that is over HTTP. */
  readonly endpoint?: ServedEndpoint | undefined;
  /** The connections of a process that connects to servers instead of serving. */
  connections?(): readonly HostedDump[];
  /** Takes the text if the signal came without a doctor. */
  readonly stderr: Pick<LineSink, 'write'>;
  readonly log: Pick<Log, 'report'>;
}

/** Answers `mcp-actors doctor`. SIGUSR2 without a doctor is answered on stderr. */
export function answerDoctors(
  source: DumpAnswerOptions,
  host: Pick<NodeJS.Process, 'on'> = process,
  { pipes }: Pick<Platform, 'pipes'> = thisPlatform,
): void {
  if (pipes === undefined) return void host.on('SIGUSR2', () => void answer(source));
  void telling(source.log, async () => {
    // The host that has launched it waits for its first answer.
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

/** Reports what fails of it: serving goes on. */
async function telling(log: DumpAnswerOptions['log'], tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (error) {
    log.report({
      level: 'error',
      name: 'dump.failed',
      message: `What is pending could not be told: ${textOfError(error)}`,
      details: { error },
    } satisfies CommandFact);
  }
}
