import { describe, expect, test } from 'vitest';
import { officialSchemas } from './official-schemas.ts';

const error = { code: -32600, message: 'no' };

describe('the schema check of all frames of a session [BASE-10]', () => {
  test.each([
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: '', error },
    { jsonrpc: '2.0', error },
    { jsonrpc: '2.0', id: 's-1', method: 'roots/list' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 's-1' } },
  ])('accepts $method $id $error', (frame) => {
    expect(officialSchemas(frame, 'ping')).toBeUndefined();
  });

  test.each(
    [
      { jsonrpc: '2.0', id: null, error },
      { jsonrpc: '2.0', id: 1.5, result: {} },
      { jsonrpc: '2.0', id: 1 },
      { jsonrpc: '2.0', id: 1, result: {}, error },
      { jsonrpc: '2.0', id: 1, error: { code: -32600 } },
      { id: 1, result: {} },
      { jsonrpc: '2.0', id: 1, result: { extra: true } },
      { jsonrpc: '2.0', id: 1, method: 'no/such' },
      { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: null } },
      { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } },
      [{ jsonrpc: '2.0', id: 1, result: {} }],
      'ping',
    ].map((frame) => ({ frame })),
  )('rejects $frame', ({ frame }) => {
    expect(officialSchemas(frame, 'ping')).toBeDefined();
  });

  test('selects the result schema by the request it answers', () => {
    const result = { content: [{ type: 'text' }] };
    expect(officialSchemas({ jsonrpc: '2.0', id: 1, result }, 'tools/call')).toContain(
      'tools/call',
    );
    expect(officialSchemas({ jsonrpc: '2.0', id: 1, result }, 'no/such')).toContain('No schema');
  });

  test('rejects a result that answers no request', () => {
    const frame = { jsonrpc: '2.0', id: 1, result: {} };
    expect(officialSchemas(frame, undefined)).toContain('nothing that was asked');
  });
});
