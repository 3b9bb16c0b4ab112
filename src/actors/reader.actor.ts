/**
 * The input of a session: an RxJS pipeline from chunks to batches of classified frames, one event per chunk.
 *
 * While the output is blocked it reads ahead, up to a limit, because a paused input would hide its own end.
 */
import { map } from 'rxjs';
import type { Observable } from 'rxjs';
import { plainActor } from '../machines/port.ts';
import type { Port } from '../machines/port.ts';
import type { ReaderEvent, ReaderInput } from '../machines/session-ports.ts';
import { decodeLine } from '../protocol/codec.ts';
import { textOfError } from '../protocol/errors.ts';
import type { ActorFactName, Report } from './facts.ts';
import type { InboundFrame } from '../protocol/frames.ts';
import { LineSplitter } from './line-splitter.ts';
import type { Line } from './line-splitter.ts';

/** Where bytes come from. */
export interface ByteSource {
  /** Completes at the end of the input; an error ends it as well. Subscribed once. */
  readonly chunks$: Observable<Uint8Array>;
  pause(): void;
  resume(): void;
}

export interface ReaderOptions {
  readonly maxLineBytes: number;
  readonly maxDepth: number;
  readonly readAheadBytes: number;
  readonly report: Report<ActorFactName>;
}

/** The logic of a reader of newline-delimited JSON. */
export function readerActor(
  source: ByteSource,
  { maxLineBytes, maxDepth, readAheadBytes, report }: ReaderOptions,
): Port<ReaderEvent, ReaderInput> {
  return plainActor(({ input: { router, session } }) => {
    const splitter = new LineSplitter(maxLineBytes);
    const decode = (line: Line): InboundFrame =>
      typeof line === 'string' ? decodeLine(line, maxDepth) : line;
    /** How much may still be read before the source is paused. */
    let allowance = Infinity;

    const spend = (chunk: Uint8Array): Uint8Array => {
      allowance -= chunk.length;
      if (allowance < 0) source.pause();
      return chunk;
    };
    const send = (frames: readonly InboundFrame[]) => {
      if (frames.length > 0) router.send({ type: 'frames.received', frames });
    };
    const end = () => {
      send(splitter.end().map(decode));
      session.send({ type: 'input.ended' });
    };

    const fail = (error: unknown) => {
      const message = `The input failed: ${textOfError(error)}`;
      report({ level: 'warning', name: 'input.failed', message, details: { error } });
      end();
    };

    const subscription = source.chunks$
      .pipe(map((chunk) => splitter.push(spend(chunk)).map(decode)))
      .subscribe({ next: send, complete: end, error: fail });

    return {
      receive: (event) => {
        if (event.type === 'output.blocked') {
          allowance = readAheadBytes;
        } else {
          allowance = Infinity;
          source.resume();
        }
      },
      stop: () => subscription.unsubscribe(),
    };
  });
}
