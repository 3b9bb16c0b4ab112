/** Interface between a connection and each kind of channel: stdio, HTTP, another transport. */
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import type { TransportLimits } from '../../../../src/actors/limits.ts';
import type { ObservedScope } from '../../../../src/actors/transitions.ts';
import type { ChannelEvent, ChannelInput, DevicePrompt } from './connection-ports.ts';
import type { Port } from '../../../../src/machines/port.ts';
import type { RestartTimes } from './restart-policy.ts';

/** Shows a person the login URL, and the code to enter there, if any. */
export type AskPerson = (url: string, device: DevicePrompt | undefined) => void;

/** Dependencies that a connection passes to all its channels. */
export interface ChannelTools {
  readonly limits: TransportLimits;
  readonly report: Report;
  readonly clock: Clock;
  /** The connection's scope: its watchers see the machines of its channels too. */
  readonly observed: ObservedScope;
  /** Receives the server process's stderr as it arrives. */
  stderr(text: string): void;
  readonly authorize: AskPerson;
}

/**
 * A way to reach one server, for one connection. Each channel is an actor of this logic. At most
 * one runs at a time: the next starts after its predecessor sent `channel.stopped`.
 */
export interface ChannelKind {
  /** Default name of the server. */
  readonly name: string;
  /** Era detection over this channel; see `ConnectionInput.shows`. */
  readonly shows: 'pipe' | 'answer';
  /** Default restart policy; `none`: a lost connection cannot be reopened. */
  readonly restart: RestartTimes | 'none';
  /**
   * Key under which this server's era is cached for other connections. Undefined: detected for each
   * connection.
   */
  readonly eraKey?: string | undefined;
  /**
   * Secrets used to reach the server. Recordings never contain them, even if a peer repeats them.
   */
  readonly secrets?: readonly string[];
  /** Stderr collected from the server's processes, if any. */
  readonly stderr?: { readonly text: string; readonly bytes: number };
  /** The last stderr lines of the current or last process, quoted in errors. */
  readonly lastWords?: string;
  /** Actor logic of a channel. Stopping the actor releases everything at once. */
  logic(tools: ChannelTools): Port<ChannelEvent, ChannelInput>;
}
