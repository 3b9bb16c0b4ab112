/** What a connection asks of each way to a server: stdio, HTTP, another transport. */
import type { Clock } from '../../actors/clock.ts';
import type { Report } from '../../actors/facts.ts';
import type { TransportLimits } from '../../actors/limits.ts';
import type { ObservedScope } from '../../actors/transitions.ts';
import type { ChannelEvent, ChannelInput } from '../../machines/connection-ports.ts';
import type { Port } from '../../machines/port.ts';
import type { RestartTimes } from '../../machines/restart-policy.ts';

/** What a channel gets of its connection. The same for all channels of one connection. */
export interface ChannelTools {
  readonly limits: TransportLimits;
  readonly report: Report;
  readonly clock: Clock;
  /** The connection: whoever watches it sees the machines of its channels too. */
  readonly observed: ObservedScope;
  /** Takes what the server's process writes to its standard error, as it comes. */
  stderr(text: string): void;
  /** A person is to open this URL to log in. */
  authorize(url: string): void;
}

/**
 * A way to one server, for one connection. Each channel is an actor of its logic, and there is never
 * more than one: the next is started when the one before has told `channel.stopped`.
 */
export interface ChannelKind {
  /** What the host calls the server if it has no name for it. */
  readonly name: string;
  /** By what a server shows its era over it; see `ConnectionInput.shows`. */
  readonly shows: 'pipe' | 'answer';
  /** When a lost connection is made again, unless the host says otherwise; `none`: it cannot be. */
  readonly restart: RestartTimes | 'none';
  /**
   * Whether the era of this server is known from another connection: the key under which it is
   * remembered. Undefined: it is asked each time.
   */
  readonly eraKey?: string | undefined;
  /** What the host has given to reach the server, and no recording may hold, whoever repeats it. */
  readonly secrets?: readonly string[];
  /** What its processes have written to their standard error, if it has processes. */
  readonly stderr?: { readonly text: string; readonly bytes: number };
  /** The last lines of it that are of the process that runs, or ran last: what an error quotes. */
  readonly lastWords?: string;
  /** The logic of its channels. An actor that is stopped releases everything at once. */
  logic(tools: ChannelTools): Port<ChannelEvent, ChannelInput>;
}
