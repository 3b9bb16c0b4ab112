/** JSON messages to the page, sent as server-sent events. */
import type { RequestId, SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';
import type { MachineDefinition } from './charts/machine-definition.ts';

/** Changes in all sessions and connections since the previous update. */
export interface PageUpdate {
  readonly sessions: readonly SessionUpdate[];
  /** Number of open sessions and connections not shown. */
  readonly omitted: number;
  /** URLs at which clients that have no session yet can connect. */
  readonly endpoints: readonly string[];
  /** Number of updates skipped because the page did not read. */
  readonly missed: number;
}

/** Update of a server's session or a host's connection. */
export interface SessionUpdate {
  readonly id: string;
  /** Reason for the end; absent while open. */
  readonly closed?: string;
  /** Set if the session ended with a failure. */
  readonly isFailure?: boolean;
  readonly dump: PageDump;
  /** Machines of the tools in progress, by tool name. */
  readonly machines: { readonly [tool: string]: MachineDefinition };
  readonly events: readonly PageEvent[];
  /** Events that were only counted. */
  readonly skipped: readonly Skipped[];
}

/** A request from the peer, or a running task. */
export type PageCall = SessionDump['calls'][number];

/** A dump with bounded lists. */
export type PageDump = PageSessionDump | PageConnectionDump;

interface Bounded {
  /** Number of omitted entries per list. */
  readonly omitted: { readonly [list: string]: number };
}

export interface PageSessionDump extends SessionDump, Bounded {}
export interface PageConnectionDump extends ConnectionDump, Bounded {}

export type Direction = 'in' | 'out';

export type PageEvent = FrameEvent | TransitionEvent;

interface Numbered {
  /** Sequence number among the session's sampled events. */
  readonly seq: number;
  /** Unix time, ms. */
  readonly at: number;
}

export interface FrameEvent extends Numbered {
  readonly kind: 'frame';
  readonly direction: Direction;
  readonly what: 'request' | 'notification' | 'result' | 'error' | 'invalid' | 'batch';
  /** The method; for a response, that of its request if known. */
  readonly method?: string;
  readonly id?: RequestId;
  /** Tool, prompt, resource or task of a request; a response has that of its request. */
  readonly subject?: string;
  /** Error text of a response: the JSON-RPC error, or the text of a tool result with `isError`. */
  readonly problem?: string;
  /** `seq` of the request that this event answers. */
  readonly answers?: number;
  /** Time from request to response, ms. */
  readonly tookMs?: number;
  /** JSON, redacted and bounded. */
  readonly frame: string;
}

export interface TransitionEvent extends Numbered {
  readonly kind: 'transition';
  /** Machine name; for lists, streams and subscriptions of a connection, the actor's id. */
  readonly machine: string;
  /** Id of the task that owns the machine. */
  readonly task?: string;
  readonly from: string;
  readonly to: string;
  /** Readable name of the event. */
  readonly cause: string;
  /** `seq` of the frame that caused the transition. */
  readonly causedBy?: number;
  /** JSON, redacted and bounded. */
  readonly event: string;
}

/** Messages of one kind that were only counted. */
export interface Skipped {
  readonly direction: Direction;
  /** Method, or kind of response. */
  readonly label: string;
  readonly count: number;
}
