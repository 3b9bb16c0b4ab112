/** Shows on stderr how far a check is and how long it may still take. */

/** What progress is written to. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface Progress {
  /** Says what is being done, before the total is known. */
  readonly begin: (what?: string) => void;
  /** Takes the number of plays that are done, of how many. */
  readonly update: (done: number, total: number) => void;
  /** Ends a line that is still open. */
  readonly end: () => void;
}

const starting = 'Starting the server';
const clearToEnd = '\u001B[K';

/**
 * Writes progress: one line over and over on a terminal, otherwise a line for each tenth.
 *
 * @param now a clock, milliseconds
 */
export function showProgress(stream: ProgressStream, now = () => performance.now()): Progress {
  const start = now();
  /** What the line that is open still needs. */
  let lineEnd = '';
  let tenths = 0;
  return {
    begin(what = starting) {
      lineEnd = stream.isTTY === true ? '\n' : '';
      stream.write(lineEnd === '' ? `${what}\n` : what);
    },
    update(done, total) {
      const text = progressText(done, total, now() - start);
      if (stream.isTTY === true) {
        lineEnd = done === total ? '' : '\n';
        stream.write(`\r${text}${clearToEnd}${done === total ? '\n' : ''}`);
        return;
      }
      const reached = Math.floor((done * 10) / total);
      if (reached === tenths) return;
      tenths = reached;
      stream.write(`${text}\n`);
    },
    end() {
      if (lineEnd !== '') stream.write(lineEnd);
      lineEnd = '';
    },
  };
}

/** The estimate assumes that the remaining plays take as long as the finished ones. */
function progressText(done: number, total: number, elapsedMs: number): string {
  const plays = `${done} of ${total} plays`;
  if (done === 0) return plays;
  if (done === total) return `${plays}, in ${roughly(elapsedMs)}`;
  return `${plays}, about ${roughly((elapsedMs / done) * (total - done))} left`;
}

function roughly(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  return seconds < 100 ? `${seconds}s` : `${Math.round(seconds / 60)}min`;
}
