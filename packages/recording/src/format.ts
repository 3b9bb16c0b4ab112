/**
 * The lines of a recording: JSON objects, each known by the members it has. `docs/maintaining/recording-format.md`
 * describes them all.
 *
 * An input is what reached the session from outside; an output is what the session did. A
 * transcript written by hand has the same lines, but needs only what the client says and what it is
 * answered.
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

/** The version of the format that we write, and the newest that we read. */
export const recordingVersion = 1;

/** By default a recording stops at this size, bytes. */
export const defaultRecordingBytes = 64 * 1024 ** 2;

/** What was computed: by the sealer of request states, or by the handler that judges an answer. */
export type ComputedUse = keyof StateSealer | 'answer';

/** What every first line has. */
interface AnyHeader {
  /** The version of the format. */
  readonly recording: number;
  /** The version of mcp-actors that wrote it. */
  readonly package?: string;
  /** The platform's version, such as Node's. */
  readonly platform?: string;
  /** The clock of the session or connection when it started, milliseconds. */
  readonly at: number;
  /** The time of day when it started, ISO 8601. */
  readonly startedAt: string;
  readonly redacted: boolean;
  /** How the command was started, if the command recorded. */
  readonly launch?: JsonObject;
}

/** A line with its time; only lines written by hand have none. */
interface Timed {
  /** The clock of the session or connection, milliseconds. */
  readonly at?: number;
}

/** A line of what came from outside. */
interface Input extends Timed {
  /** Set if it came from code that the session was calling at that moment. */
  readonly nested?: true;
  /** Of a nested one of a connection's: which part of its channel was called. */
  readonly within?: string;
  /**
   * How many rounds of microtasks after the previous input it came, if both came in one turn of the
   * event loop.
   */
  readonly rounds?: number;
}

/** The first line of a session's recording. */
export interface RecordingHeader extends Omit<SessionSetup, 'limits'>, AnyHeader {
  /** The limits of the version that recorded: an older one knew fewer. Null stands for infinity. */
  readonly limits: { readonly [TName in keyof Limits]?: number | null };
}

/** The first line of a recording of a host's connection. */
export interface ConnectionHeader extends Omit<ConnectionSetup, 'limits'>, AnyHeader {
  readonly side: 'host';
  readonly limits: { readonly [TName in keyof ConnectionLimits]?: number | null };
}

/** An origin as JSON holds it. */
export interface RecordedOrigin extends Omit<RequestOrigin, 'http' | 'noRequestsReason'> {
  /** Tells the origins of a recording apart: the first is 1. */
  readonly number: number;
  readonly http?: RecordedHttpRequest;
  /** The origin's `noRequestsReason`. */
  readonly unaskable?: string;
}

/** An HTTP request as its handler sees it. */
export interface RecordedHttpRequest {
  readonly method: string;
  readonly target: string;
  readonly remoteAddress?: string | undefined;
  readonly headers: { readonly [name: string]: string };
}

interface ClientInput extends Input {
  /** Where it came from, if it is answered by itself. */
  readonly origin?: RecordedOrigin;
}

/** The messages of one chunk of input. */
export type ClientLine = ClientInput & { readonly client: readonly unknown[] };
/** The frames of one chunk, if one of them was not a message. */
export type FramesLine = ClientInput & { readonly frames: readonly InboundFrame[] };
/** The client that waited for the answer to a request from this origin has gone. */
export type GoneLine = Input & {
  readonly gone: number;
  readonly id: RequestId;
  readonly reason: string;
};
/** The transport could not send a request or a notification. */
export type UnsentLine = Input & {
  /** The method. */
  readonly unsent: string;
  /** Of a request. */
  readonly id?: RequestId;
  readonly reason: string;
  /** The error's code, on a host's side. */
  readonly code?: string;
};
/** Input as it is, only in transcripts. */
export type RawLine = Input & { readonly raw: string };
/** The end of the input. */
export type EndLine = Input & { readonly end: true };
/** A timer fired; timers are numbered in the order in which the session set them. */
export type TimerLine = Input & { readonly timer: number };
/**
 * The platform has done what it does off the event loop, or a handler has judged an answer; numbered
 * in the order in which it began.
 */
export type ComputedLine = Input & {
  readonly computed: number;
  readonly for: ComputedUse;
  readonly value?: unknown;
  readonly thrown?: string;
};
/** A random id that the session took. */
export type RandomLine = Input & {
  readonly random: string;
  readonly for: RandomIdUse | 'jitter';
};
/** What the author says of a tool whose call goes on: see `replay` and `singleUse` of tools. */
export type ResumptionLine = Input & {
  readonly resumption: { readonly replay?: boolean; readonly singleUse?: boolean };
  readonly for: string;
};
/** What the writer told the session of its output. */
export type OutputLine = Input & {
  readonly output: 'blocked' | 'flowing' | 'flushed' | 'stalled' | 'broken';
  readonly error?: string;
};
/** What the transport told the session of its client's own channel. */
export type ChannelLine = Input & { readonly channel: 'opened' | 'closed' };
/** The host ended the session. */
export type ShutdownLine = Input & {
  readonly shutdown: string;
  /** Null stands for infinity. */
  readonly drainTimeoutMs?: number | null;
};
/** A notification that belongs to no call. */
export type NotifyLine = Input & {
  readonly notify: string;
  readonly params?: unknown;
  readonly unwritable?: string;
};
/** Something that subscriptions listen for has changed. */
export type NoticeLine = Input & {
  readonly notice: string;
  readonly uri?: string;
  /** The numbers of the subscriptions that do not see it. */
  readonly except?: readonly number[];
};
/** Frames that the author's code sent to the writer directly; only older versions write this. */
export type WriteLine = Input & { readonly write: readonly unknown[] };
/** The host asked whether the client is there; `withdrawn` is why it gave up. */
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
/** The messages of one chunk that a host has received. A chunk with an invalid one has `frames`. */
export type ReceivedLine = Input & { readonly received: readonly unknown[] };
/** The server has not served a request, and never will, so it may be sent once more. */
export type ReturnedLine = Input & {
  /** The method. */
  readonly returned: string;
  readonly id?: RequestId;
  readonly reason: string;
  readonly code?: string;
};
/** The transport has taken what was sent. The number counts what was sent and is awaited. */
export type TakenLine = Input & { readonly taken: number };
/** What became of a connection's channel. */
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
/** The host has called a method of its connection; `withdrawn` is why it gave up. */
export type HostLine = Input & {
  readonly host: number;
  readonly calls?: HostMethod | 'watch';
  /** The arguments. */
  readonly params?: unknown;
  readonly unwritable?: string;
  readonly withdrawn?: string;
};
/** A loss as JSON holds it. */
export interface RecordedLoss extends JsonObject {
  readonly kind: ConnectionLoss['kind'];
}

interface CallInput extends Input {
  /** The number of its `started` line. */
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
  /** The handler judges the answers, if the client brings them in a request. */
  readonly judged?: true;
};
/** A handler gave up what it had asked. */
export type WithdrawLine = CallInput & { readonly ask: number; readonly withdrawn: string };
/** What a handler did. */
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
  /** It asks for the client's roots. */
  | (CallInput & { readonly roots: true })
  /** It has set what it wants to find if it is run again. */
  | (CallInput & { readonly checkpoint: true })
  | (CallInput & { readonly result: unknown })
  /** It returned what JSON cannot hold; this is why. */
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

/** A frame to the client. */
export type ServerLine = Timed & { readonly server: unknown };
/** A frame that a host has sent. */
export type SentLine = Timed & { readonly sent: unknown };
/** What the host has called is settled: with this code, or without an error. */
export type SettledLine = Timed & { readonly settled: number; readonly code?: string | number };
/** A frame that we have sent, whichever side we are. */
export type FrameLine = ServerLine | SentLine;
/** A machine took an event. Tasks and subscriptions are numbered by their first event. */
export type TransitionLine = Timed & {
  readonly machine: string;
  readonly task?: number;
  readonly subscription?: number;
  /** Of a connection's lists and subscriptions, which of them it is. */
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
/** The session told a handler of the progress of what it had asked. */
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

/** A remark. */
export type RemarkLine = { readonly about: string };
/** Recording stopped here, before the session did. */
export type StoppedLine = Timed & { readonly stopped: string };

/** One line of a session's recording. */
export type RecordedLine = InputLine | SessionOutputLine | RemarkLine | StoppedLine;

/** In the order in which they are looked for: `told` lines have a `call` as well. */
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
/** Of lines with a `call`: some that ask are withdrawn, some that notify are unwritable. */
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

/** What kind of line it is: the name of the member that tells. */
export type LineKind =
  | (typeof outputKinds)[number]
  | (typeof callKinds)[number]
  | (typeof otherKinds)[number];

/** The kind of a line; undefined if no member tells. */
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
