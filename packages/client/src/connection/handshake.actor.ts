/**
 * The handshake over one channel: `server/discover` and `initialize`, and what their answers mean.
 * The connection machine decides when each is sent.
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
  /** How long an answer may take, milliseconds. The machine has shorter timeouts. */
  readonly handshakeTimeoutMs: number;
}

/** The handshake's logic. */
export function handshakeActor(
  optionsOf: (input: HandshakeInput) => HandshakeOptions,
): Port<HandshakeEvent, HandshakeInput> {
  return plainActor(({ input }) => new Handshake(optionsOf(input), input));
}

const [newest = ''] = statelessVersions;
/** How often a server that names a revision in its refusal is asked again. */
const maxRepeats = 1;

class Handshake implements Behaviour<HandshakeEvent> {
  readonly #options: HandshakeOptions;
  readonly #input: HandshakeInput;
  /** Does nothing once the channel is gone. */
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

  /** @param times how often the server was asked before */
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
        // A server that refuses the revision that it names may be starting, or be several servers
        // behind one address.
        if (times < maxRepeats) return this.#probe(revision, times + 1);
        const message = `The server refuses ${revision}, which it says that it speaks`;
        const error = new RuntimeError('PROTOCOL_VIOLATION', message);
        return this.#tell({ type: 'era.refused', error });
      }
    }
  }

  /**
   * After a probe it carries the envelope of a modern request: otherwise a server of both eras that
   * reads both messages would conclude that the legacy era was chosen. A legacy server ignores
   * these members of `_meta`.
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

/** Undefined if there was no answer: then the channel says why. */
function readProbe(outcome: RequestOutcome): EraReading | undefined {
  if (outcome.ok) return readDiscovery(outcome.result);
  const { code, remote } = outcome.error;
  if (remote) return readProbeError(remote);
  return neverHeard.has(code) ? { era: 'legacy' } : undefined;
}

/** How a server fails that does not know the method: with a refusal, a web page, nonsense. */
const neverHeard: ReadonlySet<RuntimeError['code']> = new Set([
  'HTTP_STATUS',
  'INVALID_RESPONSE',
  'LIMIT_EXCEEDED',
  'PROTOCOL_VIOLATION',
]);

/** The error that the host gets for the server's refusal. */
function refusalOf(error: RuntimeError): RuntimeError {
  const { remote } = error;
  if (!remote) return error;
  const message = `The server has refused initialize: ${remote.code} ${remote.message.slice(0, 500)}`;
  const isOtherEra = remote.code === ErrorCode.unsupportedProtocolVersion;
  const code = isOtherEra ? 'VERSION_UNSUPPORTED' : 'PROTOCOL_VIOLATION';
  return new RuntimeError(code, message, { cause: error, remote });
}
