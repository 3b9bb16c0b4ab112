/**
 * Replays a host's connection with its channels, and the calls and answers of its host, taken from the recording.
 */
import type { ChannelKind } from '../../../client/src/channel/channel-kind.ts';
import type {
  ConnectionEnvironment,
  HostMethod,
} from '../../../client/src/connection/connection-environment.ts';
import { plainConnection } from '../../../client/src/connection/connection-environment.ts';
import type { ConnectionSetup } from '../../../client/src/connection/connection-setup.ts';
import type { HostConnection } from '../../../client/src/connection/host-connection.ts';
import type { ConnectionLimits } from '../../../client/src/connection/limits.ts';
import {
  connectionLimitsWith,
  defaultConnectionLimits,
} from '../../../client/src/connection/limits.ts';
import { openChannel } from '../../../client/src/connection/open-connection.ts';
import { closingChart } from '../../../../src/server/closing.machine.ts';
import type { ChannelReport } from '../../../client/src/channel/connection-ports.ts';
import type { TransportActors } from '../../../../src/machines/peer-ports.ts';
import type { Recipient } from '../../../../src/machines/port.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { codeOf, replayedLoss, transitionLines } from '../lines.ts';
import type { InputLine, ConnectionHeader, HostLine, LinkLine } from '../format.ts';
import type { Recording } from '../recording.ts';
import type { Difference } from './difference.ts';
import type { Playback } from './playback.ts';
import { Player } from './player.ts';
import { replayedChannel } from './replay-ends.actor.ts';

/** Replays a connection. @returns the first difference, if any */
export function replayConnection(
  recording: Recording,
  header: ConnectionHeader,
  playback: Playback,
): Promise<Difference | undefined> {
  return new ConnectionPlayer(recording, header, playback).play();
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

class ConnectionPlayer extends Player {
  readonly #header: ConnectionHeader;
  readonly #connection: HostConnection;
  readonly #signals = new Map<number, AbortController>();
  /** The channel; undefined before it is opened. */
  #link: Recipient<ChannelReport> | undefined = undefined;
  /** What comes after the end is not recorded. */
  #closing = closingChart.initial;

  constructor(recording: Recording, header: ConnectionHeader, playback: Playback) {
    super(recording, playback, {
      name: 'connection',
      at: header.at,
      said: (sent) => ({ sent }),
      writer: 'writer',
    });
    this.#header = header;
    this.#connection = this.#open();
    // Listeners of the host may have called the connection.
    this.#connection.events$.subscribe(() => this.giveNested());
    this.#connection.state$.subscribe(() => this.giveNested());
  }

  protected end(): void {
    this.#ended();
    this.#connection.actor.stop();
  }

  #ended(): void {
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
  }

  #open(): HostConnection {
    const { watchers } = this.playback.host;
    const offers = (method: string) => this.#header.methods.includes(method);
    return openChannel({
      kind: this.#kind(),
      name: this.#header.name,
      clock: this.clock,
      record: this.#environment(),
      report: () => {},
      // The answers are in the recording.
      ...(offers(Method.rootsList) ? { roots: [] } : {}),
      ...(watchers ? { watchers } : {}),
    });
  }

  #kind(): ChannelKind {
    const { name, shows } = this.#header;
    const logic: ChannelKind['logic'] = () =>
      replayedChannel(
        (connection) => {
          this.#link = connection;
          this.giveNested('channel.start');
        },
        ({ type }) => this.giveNested(type),
      );
    return { name, shows, restart: 'none', logic };
  }

  #environment(): ConnectionEnvironment {
    const [header, cursor] = [this.#header, this.cursor];
    return {
      ...plainConnection,
      begin: () => setupIn(header),
      observe: (transitions) => {
        transitions.listen(
          transitionLines((line) => {
            if (this.#closing.value === 'open') cursor.output(line);
          }),
        );
      },
      random: () => () => Number(cursor.random('jitter') ?? 0),
      handlers: () =>
        new Map(header.methods.map((method) => [method, this.handlers.handlerOf(method)])),
      answers: () => ({ answer: () => this.computed() }),
      closed: (closed) => {
        if (this.#closing.value === 'open') cursor.output({ closed });
        this.#ended();
      },
    };
  }

  protected give(line: InputLine): string | undefined {
    if ('received' in line) this.ends.receive({ client: line.received });
    else if ('link' in line) return this.#linked(line);
    else if ('host' in line) this.#host(line);
    else if ('taken' in line && !this.ends.taken(line)) {
      return 'the replayed connection awaits nothing that it has sent';
    }
    return undefined;
  }

  #linked({ link, loss }: LinkLine): string | undefined {
    if (!this.#link) return 'the replayed connection has opened no channel';
    this.#link.send(this.#reportOf(link, loss));
    return undefined;
  }

  #reportOf(link: LinkLine['link'], loss: LinkLine['loss']): ChannelReport {
    switch (link) {
      case 'opened': {
        const transport = this.ends.transport({
          limits: connectionLimitsWith(),
          report: () => {},
          peer: 'server',
        } as never);
        return { type: 'channel.opened', ends: transport as unknown as TransportActors };
      }
      case 'lost':
        return { type: 'channel.lost', loss: replayedLoss(loss ?? { kind: 'input-ended' }) };
      case 'expired':
        return { type: 'session.expired' };
      case 'relogged':
        return { type: 'login.changed' };
      default:
        return { type: `channel.${link}` };
    }
  }

  /** Repeats a recorded call of the host. */
  #host({ host, calls, params, withdrawn }: HostLine): void {
    if (withdrawn !== undefined) return this.#signals.get(host)?.abort(withdrawn);
    if (calls === undefined) return;
    if (calls === 'watch') {
      this.#connection.lists.tools.watch(() => {});
      return;
    }
    const controller = new AbortController();
    this.#signals.set(host, controller);
    const settled = (code?: string | number) => {
      if (this.#closing.value === 'closed') return;
      this.cursor.output({ settled: host, ...(code === undefined ? {} : { code }) });
    };
    const call = (this.#connection[calls] as Call).bind(this.#connection);
    call(...argumentsOf(calls, params, controller.signal)).then(
      () => settled(),
      (error: unknown) => settled(codeOf(error)),
    );
  }
}

/** Index of the options argument by method. */
const optionsAt: { readonly [method in HostMethod]?: number } = {
  request: 2,
  notify: 2,
  callTool: 2,
  callToolAsTask: 2,
  listTools: 0,
  listResources: 0,
  listResourceTemplates: 0,
  listPrompts: 0,
  readResource: 1,
  getPrompt: 2,
  complete: 1,
  subscribe: 1,
  unsubscribe: 1,
  setLogLevel: 1,
  setRoots: 1,
  ping: 0,
  reconnect: 0,
};

/** Restores omitted arguments, which JSON stores as null. */
function argumentsOf(calls: HostMethod, params: unknown, signal: AbortSignal): unknown[] {
  const args = (Array.isArray(params) ? (params as unknown[]) : []).map((arg) => arg ?? undefined);
  const { [calls]: at } = optionsAt;
  if (at === undefined) return args;
  while (args.length < at) args.push(undefined);
  const options = args[at];
  args[at] = { ...(isJsonObject(options) ? options : {}), signal };
  return args;
}

function setupIn({ limits, ...header }: ConnectionHeader): ConnectionSetup {
  const { name, shows, restart, era, wanted, clientInfo, capabilities, methods } = header;
  const known = Object.entries(limits)
    .filter(([limit]) => limit in defaultConnectionLimits)
    .map(([limit, value]) => [limit, value ?? Infinity]);
  return {
    ...{ name, shows, restart, era, clientInfo, capabilities, methods },
    ...(wanted === undefined ? {} : { wanted }),
    limits: connectionLimitsWith(Object.fromEntries(known) as Partial<ConnectionLimits>),
  };
}
