import { describe, expect, test } from 'vitest';
import { exitCodeOf } from '../../src/client/exit-codes.ts';
import { textOfProgress } from '../../src/client/progress-line.ts';
import { formatResult } from '../../src/client/result-text.ts';
import { readTarget } from '../../src/client/target.ts';
import { ProtocolError, RuntimeError } from 'mcp-actors';

describe('a result', () => {
  const text = (value: string) => ({ type: 'text', text: value });

  test('is printed as its texts, each with an end of line', () => {
    const result = { content: [text('a'), text('b\n'), text('')], structuredContent: { c: 1 } };
    expect(formatResult(result, 'text')).toEqual({ text: 'a\nb\n', leftOut: [] });
  });

  test('is printed as its structure if it has no text, or as JSON', () => {
    const structured = { content: [], structuredContent: { c: 1 } };
    expect(formatResult(structured, 'text').text).toBe('{\n  "c": 1\n}\n');
    expect(formatResult(structured, 'json').text).toBe('{\n  "c": 1\n}\n');
    expect(JSON.parse(formatResult({ content: [text('a')] }, 'json').text)).toEqual([text('a')]);
  });

  test('is printed whole on one line, as the server sent it', () => {
    const result = { content: [text('a\nb')], _meta: { x: 1 } };
    const { text: line } = formatResult(result, 'raw');
    expect([line.split('\n').length, JSON.parse(line)]).toEqual([2, result]);
  });

  test('tells what a terminal cannot show', () => {
    const content = [
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource_link', name: 'n', uri: 'file:///n' },
      { type: 'resource', resource: { uri: 'a:b', text: 'inside' } },
      { type: 'resource', resource: { uri: 'a:c', blob: 'AAA=' } },
      { type: 'hologram' },
    ];
    expect(formatResult({ content }, 'text')).toEqual({
      text: 'n: file:///n\ninside\n',
      leftOut: [
        'image (image/png, 3 bytes)',
        'a:c (binary, 2 bytes)',
        'content of type "hologram"',
      ],
    });
  });
});

test.each([
  [new ProtocolError(-32602, 'no'), 1],
  [new RuntimeError('CONFIG_INVALID', 'no'), 2],
  [new RuntimeError('SPAWN_FAILED', 'no'), 3],
  [new RuntimeError('CLOSED', 'no'), 3],
  [new Error('no'), 3],
  [new RuntimeError('CONNECT_TIMEOUT', 'no'), 4],
  [new RuntimeError('REQUEST_TIMEOUT', 'no'), 4],
  [new RuntimeError('UNAUTHORIZED', 'no'), 5],
  [new RuntimeError('CANCELLED', 'no'), 130],
])('%s ends the command with %i', (error, code) => {
  expect(exitCodeOf(error)).toBe(code);
});

test.each([
  [{ progress: 1 }, '1'],
  [{ progress: 25, total: 100, message: 'reading' }, '[#####---------------] 25 of 100 reading'],
  [{ progress: 3, total: 2 }, '[####################] 3 of 2'],
])('progress %j is drawn as %s', (report, text) => {
  expect(textOfProgress(report)).toBe(text);
});

describe('the target', () => {
  const read = (
    positionals: readonly string[],
    launched?: readonly string[],
    header: string[] = [],
    env: string[] = [],
  ) => readTarget('mcp-actors call', { positionals, launched, values: { ...login, header, env } });
  const login = {
    login: false,
    'client-id': undefined,
    'client-secret-env': undefined,
    'client-metadata-url': undefined,
    'callback-port': undefined,
  };
  const entryOf = ({ source }: ReturnType<typeof read>) => {
    const [[name, server] = []] = 'config' in source ? source.config.servers : [];
    return { name, entry: server?.kind === 'enabled' ? server.settings.entry : server };
  };

  test('is a file', () => {
    expect(read(['mcp.json', 'tool', '{}'])).toEqual({
      source: { file: 'mcp.json' },
      rest: ['tool', '{}'],
    });
  });

  test('takes variables for a command alone, by the names of those that there are', () => {
    expect(read([], ['node', 'x.js'], [], ['PATH']).rest).toEqual([]);
    expect(() => read([], ['node'], [], ['NONE_SUCH'])).toThrow('the variable is not set');
    expect(() => read([], ['node'], [], ['PATH=/x'])).toThrow('must be a variable name');
    expect(() => read(['mcp.json'], undefined, [], ['PATH'])).toThrow('after --');
  });

  test('is a URL, with headers', () => {
    const target = read(['https://a.example/mcp', 'tool'], undefined, ['X-Key: v ']);
    expect(entryOf(target)).toEqual({
      name: 'a-example',
      entry: { url: 'https://a.example/mcp', headers: { 'X-Key': 'v' } },
    });
    expect(target.rest).toEqual(['tool']);
  });

  test.each([
    [['node', '--import', 'tsx', 'lab/server.ts'], 'server'],
    [['npx', '-y', '@scope/files', '.'], 'files'],
    [['./server.py'], 'server'],
  ])('is the command %j, called %s', (launched, name) => {
    expect(entryOf(read(['tool'], launched))).toEqual({
      name,
      entry: { command: launched[0], args: launched.slice(1) },
    });
  });

  test('is taken as it is written: the shell has put the variables in', () => {
    expect(entryOf(read([], ['sh', '-c', 'echo ${NONE:-x} $${HOME}'])).entry).toMatchObject({
      args: ['-c', 'echo ${NONE:-x} $${HOME}'],
    });
  });

  test.each([
    [[], undefined, [], 'needs a file of servers, a URL, or'],
    [[], [], [], "needs a server's command after --"],
    [['a.json'], undefined, ['a:b'], '--header needs a URL target'],
    [['https://a.example'], undefined, ['secret'], '--header must be NAME:VALUE'],
  ])('%j and %j are refused', (positionals, launched, headers, message) => {
    expect(() => read(positionals, launched, headers)).toThrow(message);
  });
});
