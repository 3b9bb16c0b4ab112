/** Channel over a transport with the official SDK's interface. */
import type { ChannelEvent, ChannelInput } from './connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Behaviour } from '../../../../src/machines/port.ts';
import { processRestart } from './restart-option.ts';
import { messageReaderActor } from '../../../../src/actors/reader/message-reader.actor.ts';
import { messageWriterActor } from '../../../../src/actors/writer/message-writer.actor.ts';
import { textOfError } from '../../../../src/protocol/errors.ts';
import type { OutboundFrame } from '../../../../src/protocol/frames.ts';
import type { SdkTransport } from '../../../../src/transports/sdk-transport.ts';
import type { ChannelKind, ChannelTools } from './channel-kind.ts';

/**
 * Reaches a server over any object with the interface of the official SDK's `Transport`. The
 * connection starts the transport and closes it at the end. A transport starts only once, so only a
 * connection that was given a function can be reopened.
 */
export function sdkChannel(transport: SdkTransport | (() => SdkTransport)): ChannelKind {
  const make = typeof transport === 'function' ? transport : () => transport;
  return {
    name: 'server',
    shows: 'pipe',
    restart: typeof transport === 'function' ? processRestart : 'none',
    logic: (tools) =>
      plainActor<ChannelEvent, ChannelInput>(
        ({ input }) => new SdkChannel(make, tools, input.connection),
      ),
  };
}

type Phase =
  | { readonly state: 'starting' | 'open'; readonly transport: SdkTransport }
  | { readonly state: 'closing' | 'stopped' };

class SdkChannel implements Behaviour<ChannelEvent> {
  readonly #tools: ChannelTools;
  readonly #connection: ChannelInput['connection'];
  #phase: Phase;
  #ended: () => void = () => {};
  #receive: (message: object) => void = () => {};

  constructor(
    make: () => SdkTransport,
    tools: ChannelTools,
    connection: ChannelInput['connection'],
  ) {
    this.#tools = tools;
    this.#connection = connection;
    this.#phase = { state: 'stopped' };
    try {
      const transport = make();
      this.#phase = { state: 'starting', transport };
      this.#start(transport);
    } catch (error) {
      this.#lost({ kind: 'unreachable', error });
    }
  }

  receive(event: ChannelEvent): void {
    switch (event.type) {
      case 'channel.close':
        return this.#close();
      case 'channel.negotiated':
        if (this.#phase.state === 'open') {
          this.#phase.transport.setProtocolVersion?.(event.revision);
        }
        return;
      case 'input.ended':
        return this.#lost({ kind: 'input-ended' });
      case 'output.broken':
        return this.#lost({ kind: 'output-broken', error: event.error });
    }
  }

  stop(): void {
    const phase = this.#phase;
    this.#phase = { state: 'stopped' };
    if ('transport' in phase) void this.#end(phase.transport);
  }

  #start(transport: SdkTransport): void {
    transport.onmessage = (message) => this.#receive(message);
    transport.onclose = () => {
      if (this.#phase.state === 'starting') this.#lost({ kind: 'input-ended' });
      else this.#ended();
    };
    transport.onerror = (error) => this.#fault('reported', error);
    void promised(() => transport.start()).then(
      () => {
        if (this.#phase.state !== 'starting') return;
        this.#phase = { state: 'open', transport };
        this.#connection.send({ type: 'channel.opened', ends: this.#ends(transport) });
      },
      (error: unknown) => {
        if (this.#phase.state === 'starting') this.#lost({ kind: 'unreachable', error });
      },
    );
  }

  #ends(transport: SdkTransport) {
    const { limits, report } = this.#tools;
    const options = { ...limits, report, peer: 'server' } as const;
    return {
      reader: messageReaderActor(
        {
          start: ({ message, ended }) => {
            this.#receive = message;
            this.#ended = ended;
            return () => {
              this.#receive = () => {};
              this.#ended = () => {};
            };
          },
        },
        options,
      ),
      writer: messageWriterActor(
        {
          send: (frame: OutboundFrame) => transport.send(frame),
          failureOf: () => 'broken',
          listen: () => () => {},
        },
        options,
      ),
    };
  }

  #lost(loss: ConnectionLoss): void {
    this.#connection.send({ type: 'channel.lost', loss });
  }

  #close(): void {
    const phase = this.#phase;
    if (phase.state === 'closing') return;
    this.#phase = { state: 'closing' };
    const tell = () => {
      this.#phase = { state: 'stopped' };
      this.#connection.send({ type: 'channel.stopped' });
    };
    if ('transport' in phase) void this.#end(phase.transport).then(tell);
    else tell();
  }

  async #end(transport: SdkTransport): Promise<void> {
    try {
      await transport.close();
    } catch (error) {
      this.#fault('did not close', error);
    }
  }

  #fault(what: string, error: unknown): void {
    const message = `The transport ${what}: ${textOfError(error)}`;
    this.#tools.report({ level: 'warning', name: 'transport.failed', message, details: { error } });
  }
}

/** Converts a synchronous throw into a rejection. */
async function promised(act: () => Promise<void>): Promise<void> {
  await act();
}
