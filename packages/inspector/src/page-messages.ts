/** The messages to the page, JSON over its stream of events. */
import type { RequestId, SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';
import type { MachineDefinition } from './charts/machine-definition.ts';

/** What happened in every session and every connection since the last update. */
export interface PageUpdate {
  readonly sessions: readonly SessionUpdate[];
  /** How many open ones are not among them. */
  readonly omitted: number;
  /** Where clients are served that have no session yet. */
  readonly places: readonly string[];
  /** How many updates were left out because the page did not read. */
  readonly missed: number;
}

/** Of a server's session, or of a host's connection. */
export interface SessionUpdate {
  readonly id: string;
  /** Why it ended; absent while it is open. */
  readonly closed?: string;
  /** Set if that was a failure. */
  readonly isFailure?: boolean;
  readonly dump: PageDump;
  /** The machines of the tools that are called now, by the tools' names. */
  readonly machines: { readonly [tool: string]: MachineDefinition };
  readonly events: readonly PageEvent[];
  /** What passed and was only counted. */
  readonly skipped: readonly Skipped[];
}

/** A request of the peer, or the work of a task. */
export type PageCall = SessionDump['calls'][number];

/** A dump whose lists are bounded. */
export type PageDump = PageSessionDump | PageConnectionDump;

interface Bounded {
  /** How many entries of each list are left out. */
  readonly omitted: { readonly [list: string]: number };
}

export interface PageSessionDump extends SessionDump, Bounded {}
export interface PageConnectionDump extends ConnectionDump, Bounded {}

export type Direction = 'in' | 'out';

export type PageEvent = FrameEvent | TransitionEvent;

interface Placed {
  /** Its number among the session's sampled events. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface FrameEvent extends Placed {
  readonly kind: 'frame';
  readonly direction: Direction;
  readonly what: 'request' | 'notification' | 'result' | 'error' | 'invalid' | 'batch';
  /** For an answer, the method of its request, if that is known. */
  readonly method?: string;
  readonly id?: RequestId;
  /** What the request is about, also of its answer: the tool, the prompt, the resource, the task. */
  readonly subject?: string;
  /** Why an answer is an error: the error, or what a tool's result with `isError` says. */
  readonly problem?: string;
  /** The number of the event with the request that this answers. */
  readonly answers?: number;
  /** The time between the request and this answer. */
  readonly tookMs?: number;
  /** JSON, redacted and bounded. */
  readonly frame: string;
}

export interface TransitionEvent extends Placed {
  readonly kind: 'transition';
  /** Its name; of a connection's lists, streams and subscriptions, which of them it is. */
  readonly machine: string;
  /** The id of the task whose machine it is. */
  readonly task?: string;
  readonly from: string;
  readonly to: string;
  /** The name that a person would use. */
  readonly cause: string;
  /** The number of the event with the frame that caused it. */
  readonly causedBy?: number;
  /** JSON, redacted and bounded. */
  readonly event: string;
}

/** Messages of one kind that passed and were only counted. */
export interface Skipped {
  readonly direction: Direction;
  /** The method, or the kind of answer. */
  readonly label: string;
  readonly count: number;
}
