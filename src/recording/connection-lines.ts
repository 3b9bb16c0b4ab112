/** What reaches a host's connection, as lines of a recording, and back. */
import type { ChannelReport, Loss } from '../machines/connection-ports.ts';
import type { InboundFrame, JsonObject } from '../protocol/frames.ts';
import { ProtocolError, RuntimeError, textOfError } from '../protocol/errors.ts';
import type { RuntimeErrorCode } from '../protocol/errors.ts';
import type { FramesLine } from './format.ts';
import type { LinkLine, ReceivedLine, RecordedLoss } from './connection-format.ts';
import { chunkLine } from './session-lines.ts';

/** One chunk of input: its messages, or all its frames if one of them was not a message. */
export function receivedLine(frames: readonly InboundFrame[]): ReceivedLine | FramesLine {
  const line = chunkLine(frames);
  return 'client' in line ? { received: line.client } : line;
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

/** What a call of the host's has failed with, as a host tells errors apart. */
export function codeOf(error: unknown): string | number {
  return error instanceof RuntimeError || error instanceof ProtocolError ? error.code : 'error';
}

function recordedLoss(loss: Loss): RecordedLoss {
  return {
    ...loss,
    ...('error' in loss ? { error: recordedError(loss.error) } : {}),
  } as RecordedLoss;
}

export function replayedLoss(loss: RecordedLoss): Loss {
  const { error } = loss as { readonly error?: { reason: string; code?: string } };
  const replayed = { ...loss, ...(error ? { error: replayedError(error) } : {}) };
  return replayed as JsonObject as unknown as Loss;
}
