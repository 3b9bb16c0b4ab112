/**
 * Handshake over one channel: sends `server/discover` and `initialize`, and interprets the
 * responses. The connection machine decides when.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Initialization"
 * @see MCP 2026-07-28, server/discover
 */
import type { HandshakeEvent, HandshakeFact, HandshakeInput } from './connection-context.ts';
import type { RequestOutcome } from '../../../../src/machines/peer-ports.ts';
import { plainActor } from '../../../../src/machines/port.ts';
import type { Behaviour, Port } from '../../../../src/machines/port.ts';
import { latestHandshake, statelessVersions } from '../../../../src/protocol/dialects/registry.ts';
import { ErrorCode, RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { envelopeOf } from './enveloped.ts';
import type { HostDescription } from './enveloped.ts';
import { readDiscovery, readGreeting, readProbeError } from './era.ts';
import type { EraReading } from './era.ts';

export interface HandshakeOptions {
  readonly host: HostDescription;
  /** Response timeout, ms. The machine has shorter timeouts. */
  readonly handshakeTimeoutMs: number;
}

/** Actor logic of the handshake. */
export function handshakeActor(
  optionsOf: (input: HandshakeInput) => HandshakeOptions,
): Port<HandshakeEvent, HandshakeInput> {
  return plainActor(({ input }) => new Handshake(optionsOf(input), input));
}

const [newest = ''] = statelessVersions;
/** Maximum repeated probes with a revision named in the server's rejection. */
const maxRepeats = 1;

class Handshake implements Behaviour<HandshakeEvent> {
  readonly #options: HandshakeOptions;
  readonly #input: HandshakeInput;
  /** No-op once the channel is gone. */
  #tell: (fact: HandshakeFact) => void;

  constructor(options: HandshakeOptions, input: HandshakeInput) {
    this.#options = options;
    this.#input = input;
    this.#tell = (fact) => input.connection.send(fact);
  }

  receive(event: HandshakeEvent): void {
    if (event.type === 'handshake.probe') this.#probe(newest);
    else this.#greet(event.behind);
  }

  stop(): void {
    this.#tell = () => {};
  }

  /** @param times number of earlier probes */
  #probe(revision: string, times = 0): void {
    const params = { _meta: envelopeOf(this.#options.host, revision) };
    this.#send(Method.discover, params, (outcome) => this.#probed(outcome, times));
  }

  #probed(outcome: RequestOutcome, times: number): void {
    const reading = readProbe(outcome);
    if (reading === undefined) return;
    switch (reading.era) {
      case 'legacy':
        return this.#tell({ type: 'era.found', era: 'legacy' });
      case 'modern':
        return this.#tell({ type: 'era.found', era: 'modern', profile: reading.profile });
      case 'refused':
        return this.#tell({ type: 'era.refused', error: reading.error });
      case 'again': {
        const { revision } = reading;
        // A server that rejects the revision it just named may be starting up, or be several
        // servers behind one address.
        if (times < maxRepeats) return this.#probe(revision, times + 1);
        const message = `The server rejects revision ${revision}, which it claims to support`;
        const error = new RuntimeError('PROTOCOL_VIOLATION', message);
        return this.#tell({ type: 'era.refused', error });
      }
    }
  }

  /**
   * Sends `initialize`. After a probe it carries the envelope of a modern request: a server of both
   * eras that reads both messages would otherwise conclude that the client chose the legacy era.
   * Legacy servers ignore these members of `_meta`.
   */
  #greet(behind: 'probe' | 'nothing'): void {
    const { info, capabilities, revision = latestHandshake.version } = this.#options.host;
    const envelope = behind === 'probe' ? { _meta: envelopeOf(this.#options.host, newest) } : {};
    const params = {
      ...envelope,
      protocolVersion: revision,
      capabilities: capabilities('legacy'),
      clientInfo: info,
    };
    this.#send(Method.initialize, params, (outcome) => {
      if (!outcome.ok) {
        return this.#tell({ type: 'greeting.refused', error: refusalOf(outcome.error) });
      }
      const reading = readGreeting(outcome.result);
      if (reading.ok) this.#tell({ type: 'greeting.accepted', profile: reading.profile });
      else this.#tell({ type: 'greeting.refused', error: reading.error });
    });
  }

  #send(method: string, params: JsonObject, settle: (outcome: RequestOutcome) => void): void {
    const { handshakeTimeoutMs: timeoutMs } = this.#options;
    const times = { timeoutMs, maxTotalMs: timeoutMs };
    const request = { method, params, ...times, isHandshake: true, settle };
    this.#input.correlation.send({ type: 'requests.send', requests: [request] });
  }
}

/** Undefined without a response: the channel then gives the reason. */
function readProbe(outcome: RequestOutcome): EraReading | undefined {
  if (outcome.ok) return readDiscovery(outcome.result);
  const { code, remote } = outcome.error;
  if (remote) return readProbeError(remote);
  return neverHeard.has(code) ? { era: 'legacy' } : undefined;
}

/** Failures of servers that do not know the method: a rejection, a web page, nonsense. */
const neverHeard: ReadonlySet<RuntimeError['code']> = new Set([
  'HTTP_STATUS',
  'INVALID_RESPONSE',
  'LIMIT_EXCEEDED',
  'PROTOCOL_VIOLATION',
]);

/** Converts the server's rejection to the host's error. */
function refusalOf(error: RuntimeError): RuntimeError {
  const { remote } = error;
  if (!remote) return error;
  const message = `The server rejected initialize: ${remote.code} ${remote.message.slice(0, 500)}`;
  const isOtherEra = remote.code === ErrorCode.unsupportedProtocolVersion;
  const code = isOtherEra ? 'VERSION_UNSUPPORTED' : 'PROTOCOL_VIOLATION';
  return new RuntimeError(code, message, { cause: error, remote });
}
