/**
 * The lines of a recording: JSON objects, whose members identify their kind.
 * See `docs/maintaining/recording-format.md`.
 *
 * An input reached the session from outside; an output is an action of the session. A handwritten transcript has the same
 * lines, but needs only the client's messages and the expected answers.
 */
import type {
  InboundFrame,
  JsonObject,
  RequestId,
  WireError,
} from '../../../src/protocol/frames.ts';
import type { Root } from '../../../src/protocol/roots.ts';
import type { HostMethod } from '../../client/src/connection/connection-environment.ts';
import type { ConnectionSetup } from '../../client/src/connection/connection-setup.ts';
import type { ConnectionLimits } from '../../client/src/connection/limits.ts';
import type { ConnectionLoss } from '../../../src/protocol/disconnects.ts';
import type { RequestOrigin } from '../../../src/protocol/request-origin.ts';
import type { Limits } from '../../../src/actors/limits.ts';
import type { StateSealer } from '../../../src/rounds/request-state.ts';
import type { RandomIdUse, SessionSetup } from '../../../src/server/session/session-environment.ts';

/** Format version to write, and the newest to read. */
export const recordingVersion = 1;

/** Default size limit of a recording, bytes. */
export const defaultRecordingBytes = 64 * 1024 ** 2;

/** Kinds of computation: of the request-state sealer, or a handler's validation of an answer. */
export type ComputedUse = keyof StateSealer | 'answer';

/** Common members of headers, the first line. */
interface AnyHeader {
  /** Format version. */
  readonly recording: number;
  /** Version of mcp-actors that wrote the recording. */
  readonly package?: string;
  /** Version of the platform, such as Node's. */
  readonly platform?: string;
  /** Clock at the start, milliseconds. */
  readonly at: number;
  /** Time of the start, ISO 8601. */
  readonly startedAt: string;
  readonly redacted: boolean;
  /** Command line, if the command made the recording. */
  readonly launch?: JsonObject;
}

/** A line with its time, which only handwritten lines lack. */
interface Timed {
  /** Clock of the session or connection, milliseconds. */
  readonly at?: number;
}

/** An input line. */
interface Input extends Timed {
  /** Set if the input came from outside code that the session was calling at that moment. */
  readonly nested?: true;
  /** Called part of the channel, for a nested input of a connection. */
  readonly within?: string;
  /**
   * Number of microtask rounds since the previous input, if both came in one turn of the event loop.
   */
  readonly rounds?: number;
}

/** Header of a session's recording. */
export interface RecordingHeader extends Omit<SessionSetup, 'limits'>, AnyHeader {
  /** Limits of the recording version; an older one may have fewer. Null means infinity. */
  readonly limits: { readonly [TName in keyof Limits]?: number | null };
}

/** Header of a connection's recording. */
export interface ConnectionHeader extends Omit<ConnectionSetup, 'limits'>, AnyHeader {
  readonly side: 'host';
  readonly limits: { readonly [TName in keyof ConnectionLimits]?: number | null };
}

/** JSON form of a request origin. */
export interface RecordedOrigin extends Omit<RequestOrigin, 'http' | 'noRequestsReason'> {
  /** Number of the origin in the recording, from 1. */
  readonly number: number;
  readonly http?: RecordedHttpRequest;
  /** `noRequestsReason` of the origin. */
  readonly unaskable?: string;
}

/** An HTTP request as seen by its handler. */
export interface RecordedHttpRequest {
  readonly method: string;
  readonly target: string;
  readonly remoteAddress?: string | undefined;
  readonly headers: { readonly [name: string]: string };
}

interface ClientInput extends Input {
  /** Origin, if each request is answered separately. */
  readonly origin?: RecordedOrigin;
}

/** Messages of one input chunk. */
export type ClientLine = ClientInput & { readonly client: readonly unknown[] };
/** Frames of one chunk, if one of them was not a valid message. */
export type FramesLine = ClientInput & { readonly frames: readonly InboundFrame[] };
/** The client that awaited the answer to a request of this origin has disconnected. */
export type GoneLine = Input & {
  readonly gone: number;
  readonly id: RequestId;
  readonly reason: string;
};
/** The transport could not send a request or a notification. */
export type UnsentLine = Input & {
  /** The method. */
  readonly unsent: string;
  /** Id of a request. */
  readonly id?: RequestId;
  readonly reason: string;
  /** Error code, on the host's side. */
  readonly code?: string;
};
/** Raw input, only in transcripts. */
export type RawLine = Input & { readonly raw: string };
/** The end of the input. */
export type EndLine = Input & { readonly end: true };
/** A timer fired. Timers are numbered in the order in which the session set them. */
export type TimerLine = Input & { readonly timer: number };
/**
 * A computation off the event loop, or a handler's validation of an answer, has finished. Numbered in starting order.
 */
export type ComputedLine = Input & {
  readonly computed: number;
  readonly for: ComputedUse;
  readonly value?: unknown;
  readonly thrown?: string;
};
/** A random id taken by the session. */
export type RandomLine = Input & {
  readonly random: string;
  readonly for: RandomIdUse | 'jitter';
};
/** Resumption options of a tool: see `replay` and `singleUse`. */
export type ResumptionLine = Input & {
  readonly resumption: { readonly replay?: boolean; readonly singleUse?: boolean };
  readonly for: string;
};
/** An event of the writer about its output. */
export type OutputLine = Input & {
  readonly output: 'blocked' | 'flowing' | 'flushed' | 'stalled' | 'broken';
  readonly error?: string;
};
/** An event of the transport about the client's standalone stream. */
export type ChannelLine = Input & { readonly channel: 'opened' | 'closed' };
/** The host ended the session. */
export type ShutdownLine = Input & {
  readonly shutdown: string;
  /** Null stands for infinity. */
  readonly drainTimeoutMs?: number | null;
};
/** A notification outside of calls. */
export type NotifyLine = Input & {
  readonly notify: string;
  readonly params?: unknown;
  readonly unwritable?: string;
};
/** A change that subscriptions cover. */
export type NoticeLine = Input & {
  readonly notice: string;
  readonly uri?: string;
  /** Numbers of the subscriptions that cannot see the change. */
  readonly except?: readonly number[];
};
/** Frames sent directly by the author's code; written only by older versions. */
export type WriteLine = Input & { readonly write: readonly unknown[] };
/** The host pinged the client; `withdrawn` is the reason for cancelling. */
export type PingLine = Input & {
  readonly ping: number;
  /** Null stands for infinity. */
  readonly timeoutMs?: number | null;
  readonly withdrawn?: string;
};
/** The client's roots were resolved to directories. */
export type ResolvedLine = Input & {
  readonly resolved: number;
  readonly roots?: readonly Root[];
  readonly thrown?: string;
};
/** Messages of one chunk received by a host; `frames` if one was invalid. */
export type ReceivedLine = Input & { readonly received: readonly unknown[] };
/** The server will not serve a request, so it may be resent. */
export type ReturnedLine = Input & {
  /** The method. */
  readonly returned: string;
  readonly id?: RequestId;
  readonly reason: string;
  readonly code?: string;
};
/** The transport has accepted an awaited send, numbered among the awaited ones. */
export type TakenLine = Input & { readonly taken: number };
/** A state of a connection's channel. */
export type LinkLine = Input & {
  readonly link:
    | 'opened'
    | 'lost'
    | 'stopped'
    | 'challenged'
    | 'authorized'
    | 'expired'
    | 'relogged';
  readonly loss?: RecordedLoss;
};
/** The host called a method of its connection; `withdrawn` is the reason for cancelling. */
export type HostLine = Input & {
  readonly host: number;
  readonly calls?: HostMethod | 'watch';
  /** The arguments. */
  readonly params?: unknown;
  readonly unwritable?: string;
  readonly withdrawn?: string;
};
/** JSON form of a connection loss. */
export interface RecordedLoss extends JsonObject {
  readonly kind: ConnectionLoss['kind'];
}

interface CallInput extends Input {
  /** Number of the call's `started` line. */
  readonly call: number;
}

/** A handler asked the client something. */
export type AskLine = CallInput & {
  readonly ask: number;
  readonly method: string;
  readonly params?: unknown;
  readonly unwritable?: string;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly progress?: true;
  /** True if the handler validates answers that the client sends in a request. */
  readonly judged?: true;
};
/** A handler cancelled a question. */
export type WithdrawLine = CallInput & { readonly ask: number; readonly withdrawn: string };
/** An action of a handler. */
export type CallLine =
  | AskLine
  | WithdrawLine
  | (CallInput & {
      readonly notify: string;
      readonly params?: unknown;
      readonly unwritable?: string;
    })
  | (CallInput & {
      readonly announce: string;
      readonly params?: unknown;
      readonly unwritable?: string;
    })
  | (CallInput & { readonly describe: string })
  /** The handler requests the client's roots. */
  | (CallInput & { readonly roots: true })
  /** The handler has set a checkpoint. */
  | (CallInput & { readonly checkpoint: true })
  | (CallInput & { readonly result: unknown })
  /** Why JSON cannot represent the handler's result. */
  | (CallInput & { readonly unwritable: string })
  | (CallInput & { readonly error: WireError })
  | (CallInput & { readonly thrown: string });

export type InputLine =
  | ClientLine
  | FramesLine
  | RawLine
  | GoneLine
  | UnsentLine
  | EndLine
  | TimerLine
  | ComputedLine
  | RandomLine
  | ResumptionLine
  | OutputLine
  | ChannelLine
  | ShutdownLine
  | NotifyLine
  | NoticeLine
  | WriteLine
  | PingLine
  | ResolvedLine
  | ReceivedLine
  | ReturnedLine
  | TakenLine
  | LinkLine
  | HostLine
  | CallLine;

/** A frame sent to the client. */
export type ServerLine = Timed & { readonly server: unknown };
/** A frame sent by a host. */
export type SentLine = Timed & { readonly sent: unknown };
/** A call of the host has settled: with this error code, or successfully. */
export type SettledLine = Timed & { readonly settled: number; readonly code?: string | number };
/** A sent frame of either side. */
export type FrameLine = ServerLine | SentLine;
/** A transition of a machine. Tasks and subscriptions are numbered by their first event. */
export type TransitionLine = Timed & {
  readonly machine: string;
  readonly task?: number;
  readonly subscription?: number;
  /** Name of the list or subscription of a connection. */
  readonly actor?: string;
  readonly on: string;
  readonly from: string;
  readonly to: string;
};
/** The session called a handler. */
export type StartedLine = Timed & {
  readonly started: number;
  readonly id: RequestId;
  readonly method: string;
};
/** The session reported progress of a question to its handler. */
export type ToldLine = Timed & { readonly told: number; readonly call: number };
/** The session began to resolve the client's roots. */
export type ResolveLine = Timed & { readonly resolve: number };
/** The session ended. */
export type ClosedLine = Timed & { readonly closed: string; readonly reason?: string };

export type SessionOutputLine =
  | ServerLine
  | SentLine
  | SettledLine
  | TransitionLine
  | StartedLine
  | ToldLine
  | ResolveLine
  | ClosedLine;

/** A comment. */
export type RemarkLine = { readonly about: string };
/** Recording stopped before the session ended. */
export type StoppedLine = Timed & { readonly stopped: string };

/** One line of a session's recording. */
export type RecordedLine = InputLine | SessionOutputLine | RemarkLine | StoppedLine;

/** In order of detection, because `told` lines also have a `call`. */
const outputKinds = [
  'server',
  'sent',
  'settled',
  'machine',
  'started',
  'told',
  'resolve',
  'closed',
] as const;
/** Kinds of lines with a `call`: questions may be withdrawn, notifications unwritable. */
const callKinds = [
  'withdrawn',
  'ask',
  'notify',
  'announce',
  'describe',
  'roots',
  'checkpoint',
  'result',
  'error',
  'thrown',
  'unwritable',
] as const;
const otherKinds = [
  'about',
  'stopped',
  'notify',
  'client',
  'received',
  'frames',
  'link',
  'returned',
  'taken',
  'host',
  'raw',
  'gone',
  'unsent',
  'end',
  'timer',
  'computed',
  'random',
  'resumption',
  'output',
  'channel',
  'shutdown',
  'ping',
  'notice',
  'resolved',
  'write',
] as const;

/** Kind of a line, named after its identifying member. */
export type LineKind =
  | (typeof outputKinds)[number]
  | (typeof callKinds)[number]
  | (typeof otherKinds)[number];

/** Detects the kind of a line; undefined if no member identifies it. */
export function kindOf(line: object): LineKind | undefined {
  const kindAmong = (kinds: readonly LineKind[]) => kinds.find((kind) => kind in line);
  return kindAmong(outputKinds) ?? kindAmong('call' in line ? callKinds : otherKinds);
}

export function isOutput(line: RecordedLine): line is SessionOutputLine {
  return outputKinds.some((kind) => kind in line);
}

export function isInput(line: RecordedLine): line is InputLine {
  return !isOutput(line) && !('about' in line) && !('stopped' in line);
}
