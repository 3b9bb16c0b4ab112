/** Progress of a check on stderr, with an estimate of the remaining time. */

/** Output stream. */
export interface ProgressStream {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

export interface Progress {
  /** Shows the current step before the total is known. */
  readonly begin: (what?: string) => void;
  /** Updates the number of finished plays and the total. */
  readonly update: (done: number, total: number) => void;
  /** Ends an open line. */
  readonly end: () => void;
}

const starting = 'Starting the server';
const clearToEnd = '\u001B[K';

/**
 * Creates a progress display: one updated line on a terminal, otherwise a line per 10 %.
 *
 * @param now clock, milliseconds
 */
export function showProgress(stream: ProgressStream, now = () => performance.now()): Progress {
  const start = now();
  /** Text that ends the open line. */
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

/** Formats progress, assuming that remaining plays take as long as finished ones. */
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
