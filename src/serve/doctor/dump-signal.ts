/** SIGUSR2 asks a serving process what it waits for. Until then, this costs one listener. */
import type { HostedDump } from '../../diagnosis/connections-text.ts';
import type { SessionDump } from '../../diagnosis/session-dump.ts';
import type { ServedEndpoint } from '../../diagnosis/sessions-text.ts';
import type { CommandFact, Log } from '../../log/log.ts';
import type { LineSink } from '../../log/log.ts';

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

/**
 * Answers each SIGUSR2, to `mcp-actors doctor` or on stderr. On Windows, which has no such signal,
 * it does nothing.
 */
export function dumpOnSignal(
  source: DumpAnswerOptions,
  host: Pick<NodeJS.Process, 'on'> = process,
): void {
  host.on('SIGUSR2', () => void answer(source));
}

async function answer({
  dumps,
  endpoint,
  connections,
  stderr,
  log,
}: DumpAnswerOptions): Promise<void> {
  try {
    const { answerSignal } = await import('./answer.ts');
    await answerSignal({ dumps: dumps(), endpoint, connections: connections?.() }, stderr);
  } catch (error) {
    log.report({
      level: 'error',
      name: 'dump.failed',
      message: `What is pending could not be told: ${error instanceof Error ? error.message : String(error)}`,
      details: { error },
    } satisfies CommandFact);
  }
}
