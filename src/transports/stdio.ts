/**
 * The stdio transport: newline-delimited JSON on a pair of streams.
 *
 * @see MCP 2025-11-25, basic/transports, "stdio"
 */
import { Observable } from 'rxjs';
import { readerActor } from '../actors/reader/reader.actor.ts';
import type { ByteSource } from '../actors/reader/reader.actor.ts';
import { writerActor } from '../actors/writer/writer.actor.ts';
import type { Chunk, Sink } from '../actors/writer/writer.actor.ts';
import type { Report } from '../actors/facts.ts';
import type { Transport, TransportFactName } from './transport.ts';

/** The byte streams of a session. */
export interface StdioStreams {
  /** Default: `process.stdin`. */
  readonly input?: NodeJS.ReadableStream;
  /**
   * Default: `process.stdout`, which is then reserved for frames: all other writes to it go to
   * stderr.
   */
  readonly output?: NodeJS.WritableStream;
}

/** Serves one session over stdin and stdout, or over another pair of byte streams. */
export function stdio({ input, output }: StdioStreams = {}): Transport {
  return ({ limits, report, peer }) => ({
    reader: readerActor(sourceOf(input ?? process.stdin), { ...limits, report }),
    writer: writerActor(output ? sinkOf(output) : guardedStdout(report), {
      maxOutboundBytes: limits.maxOutboundBytes,
      report,
      peer,
    }),
  });
}

/** Reads a Node stream. The stream starts to flow when the session subscribes. */
export function sourceOf(stream: NodeJS.ReadableStream): ByteSource {
  return {
    chunks$: new Observable((subscriber) => {
      const next = (chunk: Uint8Array) => subscriber.next(chunk);
      const complete = () => subscriber.complete();
      const fail = (error: unknown) => subscriber.error(error);
      stream.on('data', next);
      stream.on('end', complete);
      // A destroyed stream may close without an end.
      stream.on('close', complete);
      stream.on('error', fail);
      return () => {
        stream.off('data', next);
        stream.off('end', complete);
        stream.off('close', complete);
        stream.off('error', fail);
        // A later error would have no handler and end the process.
        stream.on('error', () => {});
        stream.pause();
      };
    }),
    pause: () => stream.pause(),
    resume: () => stream.resume(),
  };
}

type Write = (chunk: Chunk, done?: () => void) => boolean;

/** Writes to a Node stream. */
export function sinkOf(
  stream: NodeJS.WritableStream,
  write: Write = (chunk, done) => stream.write(chunk, done),
): Sink {
  return {
    write: (chunk) => write(chunk),
    flush: (done) => {
      write('', () => done());
    },
    bufferedLength: () => bufferedBytes(stream),
    listen: ({ drained, broken }) => {
      stream.on('drain', drained);
      // Never removed, because a broken pipe may be reported again after the session has ended.
      stream.on('error', broken);
      return () => {
        stream.off('drain', drained);
      };
    },
  };
}

interface WritableState {
  readonly writableLength?: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/**
 * Number of bytes still to be written. `writableLength` counts a write until all of it is gone, and
 * one write may be as long as the longest answer; the stream's handle knows how much of it is left.
 */
function bufferedBytes(stream: NodeJS.WritableStream & WritableState): number {
  const { writableLength = 0, _handle: handle } = stream;
  return writableLength + (handle?.writeQueueSize ?? 0);
}

/**
 * Reserves stdout for frames. The session writes through the stream's original method; everything
 * else (`console.log`, dependencies) gets a method that writes to stderr. The method stays in place
 * after the session, because late output would still reach the client.
 */
function guardedStdout(report: Report<TransportFactName>): Sink {
  const { stdout } = process;
  const write = stdout.write.bind(stdout) as Write;
  stdout.write = ((...written: Parameters<typeof stdout.write>) => {
    report({
      level: 'debug',
      name: 'output.diverted',
      message: `Redirected ${written[0].length} characters from stdout, which is reserved for frames, to stderr`,
    });
    // Not accessed earlier, because the first access opens it.
    return process.stderr.write(...written);
  }) as typeof stdout.write;
  return sinkOf(stdout, write);
}
