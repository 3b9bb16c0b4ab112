/** Log sink on stderr, which hosts may never read, or close. */
import type { LineSink } from '../../diagnostics/src/log/log.ts';

let sinkOfStderr: LineSink | undefined;

/** Shared sink for all output to stderr. */
export function stderrSink(): LineSink {
  return (sinkOfStderr ??= streamSink(process.stderr));
}

/** Maximum unread bytes, because many hosts open the pipe and never read it. */
const maxBacklogBytes = 1024 ** 2;
/** Time that shutdown waits for a stalled reader. */
const flushTimeoutMs = 250;

/** Creates a sink on a stream that may break or never be read. */
export function streamSink(stream: NodeJS.WritableStream & StreamState): LineSink {
  // Without a listener a broken pipe would end the process. The error cannot be reported elsewhere.
  stream.on('error', () => {});
  return {
    write(line) {
      if (!stream.writable || stream.writableLength > maxBacklogBytes) return false;
      stream.write(line);
      return true;
    },
    flush: () =>
      new Promise((resolve) => {
        if (!stream.writable || stream.writableLength === 0) return resolve();
        const timer = setTimeout(resolve, flushTimeoutMs);
        stream.write('', () => {
          clearTimeout(timer);
          resolve();
        });
      }),
  };
}

interface StreamState {
  readonly writable: boolean;
  readonly writableLength: number;
}
