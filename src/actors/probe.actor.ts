/**
 * Pings the client to check that it is alive.
 *
 * @see MCP 2025-11-25, basic/utilities/ping
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { ProbeInput, ProbeOutcome } from '../machines/keepalive.machine.ts';
import type { Ref } from '../machines/port.ts';
import type { CorrelationEvent } from '../machines/peer-ports.ts';
import { RuntimeError } from '../protocol/errors.ts';
import { Method } from '../protocol/methods.ts';
import { requestPeer } from './correlation/peer-request.ts';
import type { Clock } from './clock.ts';

/**
 * Sends a ping. Any answer counts, including an error.
 *
 * @throws {RuntimeError} REQUEST_TIMEOUT, TRANSPORT_CLOSED, CANCELLED
 */
export async function pingPeer(
  correlation: Ref<CorrelationEvent>,
  options: {
    readonly timeoutMs: number;
    readonly signal?: AbortSignal | undefined;
    /** See {@link PeerRequest.inBackground}. */
    readonly inBackground?: boolean;
  },
): Promise<void> {
  const { timeoutMs, signal, inBackground = false } = options;
  const spec = { method: Method.ping, timeoutMs, maxTotalMs: timeoutMs, signal };
  try {
    await requestPeer(correlation, spec, { inBackground });
  } catch (error) {
    const answered = ['REQUEST_FAILED', 'INVALID_RESPONSE', 'REMOTE_CANCELLED'];
    if (!(error instanceof RuntimeError && answered.includes(error.code))) throw error;
  }
}

export interface ProbeOptions {
  /**
   * Time of the last input from the client, clock ms. A getter: the router updates it with each
   * chunk of input.
   */
  readonly lastHeardAt: number;
  readonly clock: Clock;
}

/** The `probe` of the keepalive machine over a legacy session. */
export function probeActor(
  optionsOf: (input: ProbeInput) => ProbeOptions,
): PromiseActorLogic<ProbeOutcome, ProbeInput> {
  return fromPromise(async ({ input, signal }) => {
    const session = optionsOf(input);
    const { clock } = session;
    const { correlation, keepaliveIntervalMs, keepaliveTimeoutMs } = input;
    const agoMs = clock.now() - session.lastHeardAt;
    if (agoMs < keepaliveIntervalMs) return { kind: 'heard', agoMs };
    const askedAt = clock.now();
    try {
      await pingPeer(correlation, { timeoutMs: keepaliveTimeoutMs, signal, inBackground: true });
      return { kind: 'heard', agoMs: 0 };
    } catch (error) {
      if (!(error instanceof RuntimeError)) throw error;
      // A client that sends anything meanwhile is busy, not dead.
      if (session.lastHeardAt <= askedAt) return { kind: 'silent' };
      return { kind: 'heard', agoMs: clock.now() - session.lastHeardAt };
    }
  });
}
