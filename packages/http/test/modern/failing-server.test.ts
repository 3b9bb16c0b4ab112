import { initialize, request as requestOf } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import type { Fact } from 'mcp-actors';
import { request } from './modern-client.ts';
import { post } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';

const fails = () => {
  throw new Error('no server today');
};

test.each([
  ['of 2026-07-28', {}, (url: URL) => request(url, 'tools/list')],
  ['without a session', { stateless: true }, (url: URL) => post(url, initialize(1))],
  [
    'without a session, after',
    { stateless: true },
    (url: URL) => post(url, requestOf(2, 'tools/list')),
  ],
] as const)(
  'answers 500 and reports the cause if the server factory %s fails',
  async (_, options, send) => {
    const facts: Fact[] = [];
    const url = await serveHttp(fails, { ...options, report: (fact) => void facts.push(fact) });
    const response = await send(url);
    expect([response.status, await response.text()]).toEqual([
      500,
      expect.not.stringContaining('today'),
    ]);
    expect(facts).toMatchObject([{ name: 'server.failed', level: 'error' }]);
    expect(facts[0]?.message).toContain('no server today');
  },
);
