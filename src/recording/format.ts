/**
 * The lines of a recording: JSON objects, told apart by which members they have. `docs/recording.md` describes each.
 *
 * An input is what came to the session from outside; an output is what the session did. A transcript that a person has written has the same
 * lines, and may leave out everything but what the client says and what it is answered.
 */
import type { InboundFrame, JsonObject, RequestId, WireError } from '../protocol/frames.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { Root } from '../machines/roots-report.ts';
import type { TaskSupport } from '../protocol/tasks.ts';
import type { Limits } from '../actors/limits.ts';
import type { MachineName } from '../session/transitions.ts';

/** The version of the format that is written, and the newest that is read. */
export const recordingVersion = 1;

/** The first line. */
export interface RecordingHeader {
  /** The version of the format. */
  readonly recording: number;
  /** The version of mcp-actors that wrote it. */
  readonly package?: string;
  /** The platform's version, such as Node's. */
  readonly platform?: string;
  /** The session's clock, milliseconds, and the time of day, ISO 8601, when the session started. */
  readonly at: number;
  readonly startedAt: string;
  readonly redacted: boolean;
  readonly server: ServerDescription;
  readonly limits: Limits;
  readonly methods: readonly string[];
  readonly prepared: readonly string[];
  readonly taskTools: { readonly [name: string]: TaskSupport };
  readonly resolvesRoots: boolean;
  /** How the command was started, where it was the command. */
  readonly launch?: JsonObject;
}

/** On every line but those of a person's hand. */
interface Placed {
  /** The session's clock, milliseconds. */
  readonly at?: number;
}

interface Input extends Placed {
  /** Came from code that the session was calling just then. */
  readonly nested?: true;
  /** Came in the same turn of the event loop as the input before it, after so many rounds of microtasks. */
  readonly rounds?: number;
}

/** Messages of one chunk of input. */
export type ClientLine = Input & { readonly client: readonly unknown[] };
/** The same, where something among them was no message. */
export type FramesLine = Input & { readonly frames: readonly InboundFrame[] };
/** Text as it is; in transcripts. */
export type RawLine = Input & { readonly raw: string };
/** The end of the input. */
export type EndLine = Input & { readonly end: true };
/** The timer that was set so many-th has fired. */
export type TimerLine = Input & { readonly timer: number };
/** A random id, taken by the session. */
export type RandomLine = Input & { readonly random: string; readonly for: 'request' | 'task' };
export type OutputLine = Input & {
  readonly output: 'blocked' | 'flowing' | 'flushed' | 'stalled' | 'broken';
  readonly error?: string;
};
export type ShutdownLine = Input & {
  readonly shutdown: string;
  readonly drainTimeoutMs?: number;
};
/** A notification on no call's behalf. */
export type NotifyLine = Input & {
  readonly notify: string;
  readonly params?: unknown;
  readonly unwritable?: string;
};
/** Frames that the author's code gave the writer past its call. */
export type WriteLine = Input & { readonly write: readonly unknown[] };
/** The host asks whether the client is there; `withdrawn` where it no longer wants to know. */
export type PingLine = Input & {
  readonly ping: number;
  readonly timeoutMs?: number;
  readonly withdrawn?: string;
};
/** What a handler needs is loaded. */
export type LoadedLine = Input & { readonly loaded: string };
/** The client's roots were resolved. */
export type ResolvedLine = Input & {
  readonly resolved: number;
  readonly roots?: readonly Root[];
  readonly thrown?: string;
};
interface CallInput extends Input {
  /** Which: the number of its `started`. */
  readonly call: number;
}

/** A handler asks the client something. */
export type AskLine = CallInput & {
  readonly ask: number;
  readonly method: string;
  readonly params?: unknown;
  readonly unwritable?: string;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
  readonly progress?: true;
};
/** A handler no longer wants to know. */
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
  | (CallInput & { readonly describe: string })
  | (CallInput & { readonly result: unknown })
  /** It gave what JSON cannot hold, and why. */
  | (CallInput & { readonly unwritable: string })
  | (CallInput & { readonly error: WireError })
  | (CallInput & { readonly thrown: string });

export type InputLine =
  | ClientLine
  | FramesLine
  | RawLine
  | EndLine
  | TimerLine
  | RandomLine
  | OutputLine
  | ShutdownLine
  | NotifyLine
  | WriteLine
  | PingLine
  | LoadedLine
  | ResolvedLine
  | CallLine;

/** A frame to the client. */
export type ServerLine = Placed & { readonly server: unknown };
/** An event that a machine took. Tasks are counted. */
export type TransitionLine = Placed & {
  readonly machine: MachineName;
  readonly task?: number;
  readonly on: string;
  readonly from: string;
  readonly to: string;
};
/** A handler was called. */
export type StartedLine = Placed & {
  readonly started: number;
  readonly id: RequestId;
  readonly method: string;
};
/** A handler was told of progress of what it asked. */
export type ToldLine = Placed & { readonly told: number; readonly call: number };
export type LoadLine = Placed & { readonly load: string };
export type ResolveLine = Placed & { readonly resolve: number };
/** The session has ended, for this cause. */
export type ClosedLine = Placed & { readonly closed: string; readonly reason?: string };

export type OutputOfSession =
  | ServerLine
  | TransitionLine
  | StartedLine
  | ToldLine
  | LoadLine
  | ResolveLine
  | ClosedLine;

/** Neither: a remark, or that nothing more was recorded. */
export type RemarkLine = { readonly about: string };
export type StoppedLine = Placed & { readonly stopped: string };

export type RecordedLine = InputLine | OutputOfSession | RemarkLine | StoppedLine;

const inputMembers = [
  'client',
  'frames',
  'raw',
  'end',
  'timer',
  'random',
  'output',
  'shutdown',
  'ping',
  'loaded',
  'resolved',
  'write',
] as const;
/** `told` has a `call` as well, so it is looked for first. */
const outputMembers = [
  'server',
  'machine',
  'started',
  'told',
  'load',
  'resolve',
  'closed',
] as const;
const callMembers = [
  'ask',
  'notify',
  'describe',
  'result',
  'unwritable',
  'error',
  'thrown',
] as const;

/** What kind of line it is: the name of the member that says so; undefined where none does. */
export function kindOf(line: object): string | undefined {
  const output = outputMembers.find((member) => member in line);
  if (output !== undefined) return output;
  if ('call' in line) return callMembers.some((member) => member in line) ? 'call' : undefined;
  return ['about', 'stopped', 'notify', ...inputMembers].find((member) => member in line);
}

export function isOutput(line: RecordedLine): line is OutputOfSession {
  return outputMembers.some((member) => member in line);
}

export function isInput(line: RecordedLine): line is InputLine {
  return !isOutput(line) && !('about' in line) && !('stopped' in line);
}
