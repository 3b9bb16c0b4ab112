/** Converts inputs and outputs of a session or connection to lines of a recording, and back. */
import type { AnyActorRef } from 'xstate';
import type { TransitionListener } from '../../../src/actors/transitions.ts';
import type { ChannelReport } from '../../client/src/channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../src/protocol/disconnects.ts';
import type { TransportFact } from '../../../src/machines/peer-ports.ts';
import type { CloseCause } from '../../../src/machines/session-ports.ts';
import { stateName } from '../../../src/machines/names.ts';
import { classify, messageOf } from '../../../src/protocol/classify.ts';
import { encodeFrame } from '../../../src/protocol/codec.ts';
import type { Unserializable } from '../../../src/protocol/codec.ts';
import { ProtocolError, RuntimeError, textOfError } from '../../../src/protocol/errors.ts';
import type { RuntimeErrorCode } from '../../../src/protocol/errors.ts';
import type { InboundFrame, JsonObject, OutboundFrame } from '../../../src/protocol/frames.ts';
import type {
  ChannelLine,
  ClientLine,
  ClosedLine,
  FramesLine,
  LinkLine,
  OutputLine,
  ReceivedLine,
  RecordedLoss,
  RecordingHeader,
  TransitionLine,
} from './format.ts';

/** Line of an input chunk: its messages, or all its frames if one was invalid. */
export function chunkLine(frames: readonly InboundFrame[]): ClientLine | FramesLine {
  const messages = frames.map((frame) =>
    frame.kind === 'batch' ? frame.messages : messageOf(frame),
  );
  return messages.includes(undefined) ? { frames } : { client: messages };
}

/** Line of a chunk received by a host. */
export function receivedLine(frames: readonly InboundFrame[]): ReceivedLine | FramesLine {
  const line = chunkLine(frames);
  return 'client' in line ? { received: line.client } : line;
}

/**
 * Restores a recorded message as the reader classified it. Its size is estimated from its JSON.
 */
export function recordedFrame(message: unknown): InboundFrame {
  return classify(message, JSON.stringify(message).length);
}

/** Line of a writer event; undefined if a replay does not need it. */
export function writerLine(event: TransportFact): OutputLine | ChannelLine | undefined {
  switch (event.type) {
    case 'standaloneStream.opened':
      return { channel: 'opened' };
    case 'standaloneStream.closed':
      return { channel: 'closed' };
    case 'output.blocked':
      return { output: 'blocked' };
    case 'output.flowing':
      return { output: 'flowing' };
    case 'output.flushed':
      return { output: 'flushed' };
    case 'output.stalled':
      return { output: 'stalled' };
    case 'output.broken':
      return { output: 'broken', error: textOfError(event.error) };
    default:
      return undefined;
  }
}

export function closedLine(cause: CloseCause): ClosedLine {
  return { closed: cause.kind, ...('reason' in cause ? { reason: cause.reason } : {}) };
}

/**
 * Creates a listener that converts each transition of a session's machines to a line. Tasks and subscriptions are
 * numbered in the order of their first events.
 */
export function transitionLines(put: (line: TransitionLine) => void): TransitionListener {
  const numbers = { task: numbering(), subscription: numbering() };
  return ({ machine, actor, event, before, after }) => {
    if (outside.has(machine)) return;
    put({
      machine,
      ...(machine === 'task' || machine === 'subscription'
        ? { [machine]: numbers[machine](actor) }
        : {}),
      ...(['catalog', 'listening', 'followed'].includes(machine) ? { actor: actor.id } : {}),
      on: event.type,
      from: stateName(before),
      to: stateName(after),
    });
  };
}

/** Machines of a connection's channel, which a replay does not have. */
const outside: ReadonlySet<string> = new Set(['process', 'stream', 'authorization', 'slot']);

/** Numbers actors in the order of first use, from 1. */
function numbering(): (actor: AnyActorRef) => number {
  const numbers = new WeakMap<AnyActorRef, number>();
  let count = 0;
  return (actor) => {
    const number = numbers.get(actor) ?? ++count;
    numbers.set(actor, number);
    return number;
  };
}

/**
 * Converts frames to their form on the wire. Like the writer, replaces or omits values that JSON cannot represent.
 */
export function writtenFrames(
  frames: readonly OutboundFrame[],
  rejected: Unserializable = () => {},
): readonly unknown[] {
  return frames.flatMap((frame) => {
    const text = encodeFrame(frame, rejected);
    return text === '' ? [] : [JSON.parse(text) as unknown];
  });
}

/** JSON form of params, or the reason why there is none. */
export function writtenParams(
  params: unknown,
): { readonly params: unknown } | { readonly unwritable: string } {
  try {
    return { params: JSON.parse(JSON.stringify(params)) as unknown };
  } catch (error) {
    return { unwritable: textOfError(error) };
  }
}

/** Time derived from the session's clock, ISO 8601, so that a replay gives the same. */
export function timeOfDayAt(start: Pick<RecordingHeader, 'at' | 'startedAt'>, now: number): string {
  return new Date(Date.parse(start.startedAt) + (now - start.at)).toISOString();
}

const links = {
  'channel.opened': 'opened',
  'channel.lost': 'lost',
  'channel.stopped': 'stopped',
  'channel.challenged': 'challenged',
  'channel.authorized': 'authorized',
  'session.expired': 'expired',
  'login.changed': 'relogged',
} as const;

export function linkLine(report: ChannelReport): LinkLine {
  const link = links[report.type];
  return report.type === 'channel.lost' ? { link, loss: recordedLoss(report.loss) } : { link };
}

/** JSON form of an error. */
export function recordedError(error: unknown): { readonly reason: string; readonly code?: string } {
  if (!(error instanceof RuntimeError)) return { reason: textOfError(error) };
  return { reason: error.message, code: error.code };
}

/** Restores a recorded error with its code. */
export function replayedError({ reason, code }: { reason: string; code?: string }): Error {
  return code === undefined
    ? new Error(reason)
    : new RuntimeError(code as RuntimeErrorCode, reason);
}

/** Error code of a host's failed call. */
export function codeOf(error: unknown): string | number {
  return error instanceof RuntimeError || error instanceof ProtocolError ? error.code : 'error';
}

function recordedLoss(loss: ConnectionLoss): RecordedLoss {
  return {
    ...loss,
    ...('error' in loss ? { error: recordedError(loss.error) } : {}),
  } as RecordedLoss;
}

export function replayedLoss(loss: RecordedLoss): ConnectionLoss {
  const { error } = loss as { readonly error?: { reason: string; code?: string } };
  const replayed = { ...loss, ...(error ? { error: replayedError(error) } : {}) };
  return replayed as JsonObject as unknown as ConnectionLoss;
}
