/** Stderr as the sink of a log: hosts may never read it, or close it. */
import type { LineSink } from '../../diagnostics/src/log/log.ts';

let sinkOfStderr: LineSink | undefined;

/** One for all that is written there. */
export function stderrSink(): LineSink {
  return (sinkOfStderr ??= streamSink(process.stderr));
}

/** How many bytes may wait for stderr's reader: many hosts open the pipe and never read it. */
const maxBacklogBytes = 1024 ** 2;
/** How long the end of the process waits for a reader that does not read. */
const flushTimeoutMs = 250;

/** A stream, such as stderr. It may break or never be read. */
export function streamSink(stream: NodeJS.WritableStream & StreamState): LineSink {
  // Without a listener, a broken pipe would end the process. There is no other place to report it.
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
