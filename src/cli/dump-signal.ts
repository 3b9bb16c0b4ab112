/** SIGUSR2 asks a serving process what it waits for. What answers is loaded when it is asked: until then this costs one listener. */
import type { SessionDump } from '../diagnosis/session-dump.ts';
import type { CommandFact, Log } from './log/log.ts';
import type { LogSink } from './log/log-sink.ts';

export interface DumpSource {
  /** One for each session that is open. */
  dumps(): readonly SessionDump[];
  /** Where the text goes when nobody but a signal has asked. */
  readonly stderr: Pick<LogSink, 'write'>;
  readonly log: Pick<Log, 'report'>;
}

/** Answers each SIGUSR2: whoever asks by `mcp-actors doctor`, or on stderr. Windows has no such signal; nothing is done there. */
export function dumpOnSignal(source: DumpSource, host: Pick<NodeJS.Process, 'on'> = process): void {
  host.on('SIGUSR2', () => void answer(source));
}

async function answer({ dumps, stderr, log }: DumpSource): Promise<void> {
  try {
    const { answerSignal } = await import('./doctor/answer.ts');
    await answerSignal(dumps(), stderr);
  } catch (error) {
    log.report({
      level: 'error',
      name: 'dump.failed',
      message: `What is pending could not be told: ${error instanceof Error ? error.message : String(error)}`,
      details: { error },
    } satisfies CommandFact);
  }
}
