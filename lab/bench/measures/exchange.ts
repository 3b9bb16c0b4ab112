/** Many requests with a bounded number in flight: duration and server cost. */
import type { Asked, Check, RawClient } from '../raw-client.ts';
import { call, enveloped, isCompleteText, isEmpty, isText, ping } from '../conversation.ts';

/** A kind of request with distinct content, and the check of its response. */
export interface Kind {
  request(at: number): Asked;
  check(at: number): Check;
}

export const pings: Kind = { request: () => ping, check: () => isEmpty };

/** Calls of `echo`, with validated input and distinct responses. */
export const echoes: Kind = {
  request: (at) => call('echo', { text: `text number ${at}` }),
  check: (at) => isText(`text number ${at}`),
};

/** The same calls in 2026-07-28. */
export const envelopedEchoes: Kind = {
  request: (at) => enveloped(echoes.request(at)),
  check: (at) => isCompleteText(`text number ${at}`),
};

export interface Exchanged {
  /** From the first write to the last response. */
  readonly wallMs: number;
  readonly cpuMs: number;
}

/**
 * Sends `count` requests with at most `window` in flight. Requests enabled by one chunk of
 * responses go out in one write; with a window as large as the count, everything is written at
 * once.
 */
export async function exchange(
  client: RawClient,
  kind: Kind,
  count: number,
  window: number,
): Promise<Exchanged> {
  const cpuBefore = client.cpuMs;
  let sent = 0;
  let answered = 0;
  const next = () => {
    const first = sent;
    const room = Math.min(count - sent, window - (sent - answered));
    if (room <= 0) return;
    sent += room;
    const requests = Array.from({ length: room }, (_, at) => kind.request(first + at));
    client.writeText(
      client.encode(requests, (result, at) => {
        const fault = kind.check(first + at)(result);
        if (fault !== undefined) client.fail(`request ${first + at}: ${fault}`);
        answered++;
      }),
    );
  };
  const startedAt = performance.now();
  const done = new Promise<void>((resolve) => {
    client.onChunkEnd = () => {
      if (answered === count) resolve();
      else next();
    };
  });
  next();
  await done;
  client.onChunkEnd = () => {};
  return { wallMs: client.receivedAt - startedAt, cpuMs: client.cpuMs - cpuBefore };
}
