/** A server that asks faster than it takes answers: it is read no further, and that is told. */
import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { maxWaitingTold } from '../../src/http/posts.ts';
import { HttpHost } from './http-host.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

const pingsPerWrite = 1000;

/** Pings on the server's own stream without end, and the answers to them that it holds back. */
async function storm() {
  const held: Scripted[] = [];
  let pings = 0;
  let state: 'holding' | 'taking' | 'over' = 'holding';
  const server = await scriptedServer(async (asked) => {
    if (asked.method !== 'GET') {
      if (asked.message?.method !== undefined) return greeted(asked) || asked.result();
      if (state === 'holding') return held.push(asked);
      return asked.response.writeHead(202).end();
    }
    asked.stream();
    const { response } = asked;
    while (state !== 'over' && !response.destroyed) {
      let text = '';
      for (let n = 0; n < pingsPerWrite; n++) {
        text += `data: ${JSON.stringify({ jsonrpc: '2.0', id: ++pings, method: 'ping' })}\n\n`;
      }
      if (response.write(text)) await new Promise(setImmediate);
      else await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
  });
  return {
    server,
    take: () => {
      state = 'taking';
      for (const { response } of held.splice(0)) response.writeHead(202).end();
    },
    end: () => {
      state = 'over';
    },
  };
}

describe('a storm of requests over HTTP', () => {
  test('is read no further while too many answers wait, and goes on when they are taken', async () => {
    const { server, take, end } = await storm();
    let answered = 0;
    const host = new HttpHost({ url: server.url.href });
    host.answer = ({ id }) => {
      answered++;
      return { jsonrpc: '2.0', id, result: {} };
    };
    await host.greet();
    const told = await host.facts.first(({ name }) => name === 'answers.waiting');
    expect(told).toMatchObject({ level: 'warning', message: expect.stringContaining('1024') });
    // What was read of one chunk is answered; no other chunk is read after it.
    const before = answered;
    expect(before).toBeLessThan(2 * maxWaitingTold + 2 * pingsPerWrite);
    expect(await host.request('ping').then(({ kind }) => kind, String)).toBe('result');
    expect(answered).toBe(before);
    take();
    await expect.poll(() => answered).toBeGreaterThan(before + maxWaitingTold);
    end();
  });
});
