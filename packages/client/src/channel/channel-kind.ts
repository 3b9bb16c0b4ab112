/** What a connection needs from each kind of channel: stdio, HTTP, another transport. */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { TransportLimits } from '../../../../src/actors/limits.ts';
import type { ObservedScope } from '../../../../src/actors/transitions.ts';
import type { ChannelEvent, ChannelInput, DevicePrompt } from './connection-ports.ts';
import type { Port } from '../../../../src/machines/port.ts';
import type { RestartTimes } from './restart-policy.ts';

/** Shows a person the URL that they must open to log in, and the code to enter there if there is one. */
export type AskPerson = (url: string, device: DevicePrompt | undefined) => void;

/** What a channel gets from its connection; the same for all channels of a connection. */
export interface ChannelTools {
  readonly limits: TransportLimits;
  readonly report: Report;
  readonly clock: Clock;
  /** The connection, whose watchers see the machines of its channels too. */
  readonly observed: ObservedScope;
  /** Takes the stderr of the server's process as it arrives. */
  stderr(text: string): void;
  readonly authorize: AskPerson;
}

/**
 * A way to reach one server, for one connection. Each channel is an actor of its logic. There is at
 * most one at a time: the next starts after its predecessor has sent `channel.stopped`.
 */
export interface ChannelKind {
  /** The default name of the server. */
  readonly name: string;
  /** How a server shows its era over it; see `ConnectionInput.shows`. */
  readonly shows: 'pipe' | 'answer';
  /**
   * When a lost connection is reopened, unless the host says otherwise; `none`: it cannot be
   * reopened.
   */
  readonly restart: RestartTimes | 'none';
  /**
   * The key under which this server's era is remembered for other connections. Undefined: it is
   * asked each time.
   */
  readonly eraKey?: string | undefined;
  /**
   * The host's secrets for reaching the server. A recording must never contain them, even if a peer
   * repeats them.
   */
  readonly secrets?: readonly string[];
  /** The stderr of its processes, if it has processes. */
  readonly stderr?: { readonly text: string; readonly bytes: number };
  /** The last stderr lines of the current or last process, which an error quotes. */
  readonly lastWords?: string;
  /** The logic of its channels. A stopped actor releases everything at once. */
  logic(tools: ChannelTools): Port<ChannelEvent, ChannelInput>;
}
