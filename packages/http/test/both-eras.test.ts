import { describe, expect, test } from 'vitest';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import { modern, textOf } from '../../../test/e2e/both-eras-client.ts';
import { connectTo, serveHttp } from './serving.ts';

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)('the lab server over HTTP, in %s', (revision, mode) => {
  test('answers a call', async () => {
    const client = await connectTo(await serveHttp(laboratory), mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    expect(textOf(result)).toBe('hi');
  });

  test('requests input from the client during a call', async () => {
    const client = await connectTo(await serveHttp(laboratory), mode, { roots: {} });
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }));
    const args = { kind: 'roots', count: 3, concurrent: true };
    const result = await client.callTool({ name: 'ask', arguments: args });
    expect(result.structuredContent).toMatchObject({ succeeded: 3 });
  });
});

test('serves clients of both eras at one endpoint at the same time', async () => {
  const url = await serveHttp(laboratory);
  const clients = await Promise.all([connectTo(url, 'legacy'), connectTo(url, modern)]);
  const results = await Promise.all(
    clients.map((client, index) =>
      client.callTool({ name: 'echo', arguments: { message: `to ${index}` } }),
    ),
  );
  expect(results.map(textOf)).toEqual(['to 0', 'to 1']);
});
