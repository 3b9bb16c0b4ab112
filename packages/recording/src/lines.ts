/** What reaches a session or a host's connection and what it does, as lines of a recording, and back. */
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

/** One chunk of input: its messages, or all its frames if one of them was not a message. */
export function chunkLine(frames: readonly InboundFrame[]): ClientLine | FramesLine {
  const messages = frames.map((frame) =>
    frame.kind === 'batch' ? frame.messages : messageOf(frame),
  );
  return messages.includes(undefined) ? { frames } : { client: messages };
}

/** The same of what a host has received. */
export function receivedLine(frames: readonly InboundFrame[]): ReceivedLine | FramesLine {
  const line = chunkLine(frames);
  return 'client' in line ? { received: line.client } : line;
}

/**
 * A recorded message as the reader classified it. Its length on the wire is about that of its JSON.
 */
export function recordedFrame(message: unknown): InboundFrame {
  return classify(message, JSON.stringify(message).length);
}

/** What the writer tells the session; undefined if a replay need not be told. */
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
 * Makes the listener to one session's machines that gives each transition as a line. It numbers the
 * tasks and the subscriptions, each in the order of their first events.
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

/** What belongs to a connection's channel: a replay has none. */
const outside: ReadonlySet<string> = new Set(['process', 'stream', 'authorization', 'slot']);

/** Gives each actor its number, the first that it is asked for 1. */
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
 * The frames as the client gets them. As a writer does, it replaces or leaves out what JSON cannot
 * hold.
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

/** The params as JSON holds them, or why it cannot. */
export function writtenParams(
  params: unknown,
): { readonly params: unknown } | { readonly unwritable: string } {
  try {
    return { params: JSON.parse(JSON.stringify(params)) as unknown };
  } catch (error) {
    return { unwritable: textOfError(error) };
  }
}

/** The time of day by the session's clock, ISO 8601: a replay tells the same. */
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

/** Why something failed, as an object that JSON holds. */
export function recordedError(error: unknown): { readonly reason: string; readonly code?: string } {
  if (!(error instanceof RuntimeError)) return { reason: textOfError(error) };
  return { reason: error.message, code: error.code };
}

/** The error that was recorded: its code is what a host goes by. */
export function replayedError({ reason, code }: { reason: string; code?: string }): Error {
  return code === undefined
    ? new Error(reason)
    : new RuntimeError(code as RuntimeErrorCode, reason);
}

/** What a host's call has failed with, as a host tells errors apart. */
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
