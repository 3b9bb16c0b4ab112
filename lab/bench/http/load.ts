/** Many requests over many connections: what they cost the server. */
import type { Exchanged, Kind } from '../measures/exchange.ts';
import type { Connection } from './connection.ts';
import type { HttpClient, Session } from './http-client.ts';

/** A connection, and who speaks on it; without a session a client of 2026-07-28. */
export interface Lane {
  readonly connection: Connection;
  readonly session: Session | undefined;
  /** Hears how long each answer took, milliseconds. */
  readonly onAnswer?: (ms: number) => void;
}

/** Sends `count` requests: one at a time on each connection, and the next as soon as there is an answer. */
export async function load(
  client: HttpClient,
  kind: Kind,
  count: number,
  lanes: readonly Lane[],
): Promise<Exchanged> {
  const cpuBefore = client.cpuMs;
  const startedAt = performance.now();
  let sent = 0;
  let answered = 0;
  await new Promise<void>((resolve) => {
    const next = (lane: Lane): void => {
      if (sent === count) return;
      const at = sent++;
      const askedAt = performance.now();
      client.ask(lane.connection, lane.session, kind.request(at), {
        settle: (result) => {
          const fault = kind.check(at)(result);
          if (fault !== undefined) return client.fail(`request ${at}: ${fault}`);
          lane.onAnswer?.(client.receivedAt - askedAt);
          answered += 1;
          if (answered === count) resolve();
          else next(lane);
        },
      });
    };
    for (const lane of lanes) next(lane);
  });
  return { wallMs: client.receivedAt - startedAt, cpuMs: client.cpuMs - cpuBefore };
}
