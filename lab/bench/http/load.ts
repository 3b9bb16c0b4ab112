/** Server cost of many requests over many connections. */
import type { Exchanged, Kind } from '../measures/exchange.ts';
import type { Connection } from './connection.ts';
import type { HttpClient, Session } from './http-client.ts';

/** A connection and its session; without a session, a 2026-07-28 client. */
export interface Lane {
  readonly connection: Connection;
  readonly session: Session | undefined;
  /** Called with the duration of each response, ms. */
  readonly onAnswer?: (ms: number) => void;
}

/** Sends `count` requests: on each connection, the next as soon as the previous is answered. */
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
