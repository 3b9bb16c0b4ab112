import { describe, expect, test } from 'vitest';
import { mirroredHeaders } from '../../src/http/tool-headers.ts';

describe('the headers that repeat a request [HOST-14]', () => {
  test.each([
    ['server/discover', {}, { 'mcp-method': 'server/discover' }],
    ['tools/call', { name: 'echo' }, { 'mcp-method': 'tools/call', 'mcp-name': 'echo' }],
    [
      'resources/read',
      { uri: 'file:///ä' },
      { 'mcp-method': 'resources/read', 'mcp-name': '=?base64?ZmlsZTovLy/DpA==?=' },
    ],
    ['prompts/get', { name: 7 }, { 'mcp-method': 'prompts/get' }],
    ['tools/list', { name: 'not its name' }, { 'mcp-method': 'tools/list' }],
  ])('of %s with %j', (method, params, headers) => {
    expect(mirroredHeaders(method, params)).toStrictEqual(headers);
  });

  test('are those of the declared parameters that have a value, at the path of each', () => {
    const parameters = ['Region', 'Count', 'Share', 'Dry', 'Gone', 'Null', 'Proto'].map((name) => ({
      name,
      path: name === 'Proto' ? ['constructor'] : ['nested', name.toLowerCase()],
    }));
    const nested = { region: 'Zürich', count: 1e21, share: 1.5, dry: false, null: null };
    const params = { name: 'run', arguments: { nested } };
    expect(mirroredHeaders('tools/call', params, parameters)).toStrictEqual({
      'mcp-method': 'tools/call',
      'mcp-name': 'run',
      'mcp-param-Region': '=?base64?WsO8cmljaA==?=',
      'mcp-param-Count': '1000000000000000000000',
      'mcp-param-Share': '1.5',
      'mcp-param-Dry': 'false',
    });
  });
});
