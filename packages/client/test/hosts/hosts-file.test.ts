import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TestClock } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { formatConfigProblem } from '../../src/hosts/config-problem.ts';
import { readHosts, readHostsFile, readHostsText, watchFile } from '../../src/hosts/hosts-file.ts';
import type { ServerSettings } from '../../src/hosts/server-entry.ts';
import { fitsTool, isAllowed } from '../../src/hosts/tool-policies.ts';

const environment = { HOME: '/home/ada', EMPTY: '', TOKEN: 'hunter2' };

function settingsOf(entry: object): ServerSettings {
  const { servers } = readHosts({ mcpServers: { one: entry } }, { environment });
  const server = servers.get('one');
  if (server?.kind === 'enabled') return server.settings;
  throw new Error(`not enabled: ${JSON.stringify(server)}`);
}

/** Every fault of one entry, without the file and the server. */
function faultsOf(entry: unknown): readonly string[] {
  const { faults } = readHosts({ mcpServers: { one: entry } }, { environment });
  for (const { server } of faults) expect(server).toBe('one');
  return faults.map(({ key, message }) => `${key ?? '-'}: ${message}`);
}

function refusal(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    expect(error).toMatchObject({ name: 'RuntimeError', code: 'CONFIG_INVALID' });
    return (error as Error).message;
  }
  throw new Error('it was taken');
}

describe('an mcpServers file', () => {
  test('accepts comments, trailing commas and a byte order mark', () => {
    const text = `\uFEFF{
      // mine
      "mcpServers": { "files": { "command": "npx", "args": ["-y", "files",], /* here */ }, },
    }`;
    const { servers, faults } = readHostsText(text);
    expect(faults).toEqual([]);
    expect(servers.get('files')).toMatchObject({
      kind: 'enabled',
      settings: { entry: { command: 'npx', args: ['-y', 'files'] } },
    });
  });

  test('reads the example file', async () => {
    const file = join(import.meta.dirname, '../../../../examples/client/mcp.jsonc');
    const { servers, faults, remarks } = await readHostsFile(file, { environment });
    expect([faults, remarks]).toEqual([[], []]);
    expect([...servers].map(([name, { kind }]) => `${name} ${kind}`)).toEqual([
      'files enabled',
      'github enabled',
      'lab enabled',
      'old disabled',
    ]);
  });

  test('finds servers under "mcpServers" or "servers"', () => {
    const { servers } = readHosts({ servers: { a: { command: 'a' } }, inputs: [] });
    expect([...servers.keys()]).toEqual(['a']);
  });

  test.each(['stdio', 'http', 'streamable-http', 'sse', undefined])(
    'accepts the type %s',
    (type) => {
      const way = type === 'stdio' ? { command: 'a' } : { url: 'https://a.example/mcp' };
      expect(settingsOf({ ...way, type }).entry).toMatchObject(way);
    },
  );

  test('accepts the longest time and the lowest port', () => {
    const oauth = { callbackPort: 1, clientMetadataUrl: 'https://a.example/b' };
    expect(settingsOf({ url: 'https://a.example', timeoutMs: 2 ** 31 - 1, oauth })).toMatchObject({
      entry: { oauth },
      timeoutMs: 2 ** 31 - 1,
    });
  });

  test('keeps only the keys that are present', () => {
    const nothing = { lazy: false, tools: {}, bridging: {}, others: {} };
    expect(settingsOf({ command: 'a', era: 'auto', restart: true })).toStrictEqual({
      entry: { command: 'a' },
      ...nothing,
    });
    const url = 'https://a.example/mcp';
    const oauth = { clientId: 'b', scopes: ['c'] };
    const auth = { kind: 'stored' };
    expect(settingsOf({ url, era: 'modern', oauth, auth })).toStrictEqual({
      entry: { url, oauth: { clientId: 'b' } },
      era: 'modern',
      ...nothing,
      bridging: { auth },
    });
    // Other hosts have a key of this name.
    expect(settingsOf({ url, auth: 'token' })).toStrictEqual({
      entry: { url },
      ...nothing,
      others: { auth: 'token' },
    });
  });

  test('reads every setting of a server', () => {
    const settings = settingsOf({
      command: 'node',
      args: ['a.js'],
      env: { PORT: '1' },
      cwd: '/tmp',
      timeoutMs: 5,
      restart: { maxAttempts: 1 },
      lazy: true,
      idleMs: 7,
      tools: { allow: ['a*'], deny: ['ab'] },
      share: 'pool',
      poolSize: 2,
      maxProcesses: 3,
      processIdleMs: 4,
      retry: 'reads',
      autoApprove: ['a'],
    });
    expect(settings).toEqual({
      entry: { command: 'node', args: ['a.js'], env: { PORT: '1' }, cwd: '/tmp' },
      timeoutMs: 5,
      restart: { maxAttempts: 1 },
      lazy: true,
      idleMs: 7,
      tools: { allow: ['a*'], deny: ['ab'] },
      bridging: { share: 'pool', poolSize: 2, maxProcesses: 3, processIdleMs: 4, retry: 'reads' },
      others: { autoApprove: ['a'] },
    });
  });

  test.each([
    [false, 'none'],
    ['none', 'none'],
    [true, undefined],
  ])('reads restart: %s', (written, read) => {
    expect(settingsOf({ command: 'a', restart: written }).restart).toBe(read);
  });

  test.each([
    { disabled: true },
    { enabled: false },
    { disabled: false, enabled: false },
    { disabled: true, enabled: true },
  ])('skips validation of a server disabled by %j', (off) => {
    const entry = { ...off, command: 3, args: ['${MISSING}'] };
    const { servers, faults } = readHosts({ mcpServers: { off: entry } });
    expect([servers.get('off'), faults]).toEqual([{ kind: 'disabled' }, []]);
  });

  test('remarks on unknown keys but not on those of other hosts', () => {
    const entry = { command: 'a', alwaysAllow: [], timeoutms: 5, colour: 'red' };
    const { remarks, faults } = readHosts({ mcpServers: { one: entry } });
    expect(faults).toEqual([]);
    expect(remarks.map(({ key, message }) => [key, message])).toEqual([
      ['timeoutms', 'this key is not known, and has no effect. Did you mean timeoutMs?'],
      ['colour', 'this key is not known, and has no effect'],
    ]);
    const login = { url: 'https://a.example', oauth: { clientId: 'a', scopes: [] } };
    expect(readHosts({ servers: { one: login } }).remarks).toMatchObject([
      { key: 'oauth.scopes', message: 'this key is not known, and has no effect' },
    ]);
  });

  test('remarks on a duplicate server name', () => {
    const { remarks } = readHostsText(
      '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}, "inputs": {"i": 1, "i": 2}}',
      { file: 'mcp.json' },
    );
    expect(remarks.map(formatConfigProblem)).toEqual([
      'mcp.json: line 1, server "a": the name stands in the file twice, and only one of them counts: remove or rename one',
    ]);
  });
});

describe('variables', () => {
  test.each([
    ['${HOME}/x', '/home/ada/x'],
    ['${env:HOME}', '/home/ada'],
    ['${MISSING:-a:-b}', 'a:-b'],
    ['${EMPTY:-a}', 'a'],
    ['${EMPTY}', ''],
    ['${HOME:-a}', '/home/ada'],
    ['$HOME', '$HOME'],
    ['$${HOME}', '${HOME}'],
  ])('expands %j to %j', (written, read) => {
    expect(settingsOf({ command: 'a', args: [written] }).entry).toMatchObject({ args: [read] });
  });

  test('expands every string', () => {
    const settings = settingsOf({
      url: 'https://a.example${HOME}',
      headers: { authorization: 'Bearer ${TOKEN}' },
      tools: { allow: ['${HOME}'] },
    });
    expect(settings.entry).toEqual({
      url: 'https://a.example/home/ada',
      headers: { authorization: 'Bearer hunter2' },
    });
    expect(settings.tools.allow).toEqual(['/home/ada']);
  });

  test('reports missing or invalid variables', () => {
    const env = { A: '${NONE}', B: '${input:key}', C: '${my key}' };
    expect(faultsOf({ command: 'a', env })).toEqual([
      'env.A: the variable NONE is not set. Set it, or write a default: ${NONE:-default}',
      'env.B: ${input:key} is no variable of the environment: only VS Code asks for inputs. Write ${NAME} or ${NAME:-default}, or $${…} for the text itself',
      'env.C: ${my key} is no variable of the environment. Write ${NAME} or ${NAME:-default}, or $${…} for the text itself',
    ]);
  });
});

describe('faults', () => {
  test('reports all faults of an entry with key and accepted values', () => {
    const faults = faultsOf({
      type: 'streamableHttp',
      command: '',
      args: ['a', 3],
      cwd: 5,
      timeoutMs: '30',
      lazy: 'yes',
      idleMs: 0,
      restart: { maxAttempts: 1.5, retries: 3 },
      tools: { alow: [] },
    });
    expect(faults).toEqual([
      'type: "streamableHttp" is not one of stdio, http, streamable-http, sse',
      'command: "" is not the name or path of a program',
      'args[1]: 3 is not a string',
      'cwd: 5 is not the path of a directory',
      'timeoutMs: "30" is not a whole number of milliseconds, from 1 to 2147483647',
      'lazy: "yes" is not true or false',
      'idleMs: 0 is not a whole number of milliseconds, from 1 to 2147483647',
      'tools.alow: there is no such key: there are allow, deny',
      'restart.retries: there is no such key: there are initialMs, maxMs, factor, jitter, maxAttempts, stableMs',
      'restart.maxAttempts: 1.5 is not a whole number of at least 0, or Infinity',
    ]);
  });

  test.each([
    [{}, '-: it has neither a "command" nor a "url"'],
    [
      { serverUrl: 'https://a.example' },
      '-: it has neither a "command" nor a "url": write "url" for "serverUrl"',
    ],
    [
      { command: 'a', url: 'https://a.example' },
      '-: it has both a "command" and a "url": remove one of them',
    ],
    [{ command: 'a', headers: {} }, 'headers: it has no meaning for a server with a "command"'],
    [{ url: 'https://a.example', args: [] }, 'args: it has no meaning for a server with a "url"'],
    [
      { url: 'https://a.example', type: 'stdio' },
      'type: "stdio" does not fit a server with a "url"',
    ],
    [{ command: 'a', type: 'sse' }, 'type: "sse" does not fit a server with a "command"'],
    [
      { url: 'ftp://a.example' },
      'url: "ftp://a.example" is not a URL that begins with http:// or https://',
    ],
    [
      { command: 'a', restart: 3 },
      'restart: 3 is not an object with any of initialMs, maxMs, factor, jitter, maxAttempts, stableMs, or true, false or "none"',
    ],
    [
      { command: 'a', restart: { initialMs: 9, maxMs: 5 } },
      'restart: restart.initialMs must be at most restart.maxMs (5), got 9',
    ],
    [
      { url: 'https://a.example', oauth: { clientSecret: 'a' } },
      'oauth.clientSecret: requires "clientId"',
    ],
    [
      { url: 'https://a.example', oauth: { callbackPort: 0 } },
      'oauth.callbackPort: 0 is not a port, from 1 to 65535',
    ],
    [
      { url: 'https://a.example', oauth: { clientMetadataUrl: 'http://a.example/c' } },
      'oauth.clientMetadataUrl: "http://a.example/c" is not an https:// URL with a path',
    ],
    [
      { command: 'a', oauth: { clientId: 'b' } },
      'oauth: it has no meaning for a server with a "command"',
    ],
    [{ url: 'https://a.example', oauth: 'a' }, 'oauth: "a" is not an object'],
    [
      { url: 'https://a.example', oauth: { clientMetadataUrl: 'https://a b/c' } },
      'oauth.clientMetadataUrl: "https://a b/c" is not an https:// URL with a path',
    ],
    [{ command: 'a', poolSize: 0 }, 'poolSize: 0 is not a whole number from 1 on'],
    [{ command: 'a', poolSize: 1.5 }, 'poolSize: 1.5 is not a whole number from 1 on'],
    [{ url: 'https:' }, 'url: "https:" is not a URL that begins with http:// or https://'],
    [{ url: 5 }, 'url: 5 is not a URL that begins with http:// or https://'],
    [
      { command: 'a', tools: { allow: ['@readOnly'] } },
      'tools.allow[0]: "@readOnly" is not the name of a tool; annotations stand in "policies"',
    ],
    [
      { command: 'a', tools: { deny: [5] } },
      'tools.deny[0]: 5 is not the name of a tool; annotations stand in "policies"',
    ],
    [
      { command: 'a', policies: 'none' },
      'policies: "none" is not an object with any of allow, deny, ask, rate',
    ],
    [{ command: 'a', auth: 'stored' }, 'auth: it has no meaning for a server with a "command"'],
    [
      { url: 'https://a.example', auth: { kind: 'constructor' } },
      'auth.kind: "constructor" is not one of exchange, client-credentials, stored',
    ],
    ['npx files', '-: "npx files" is not an object with a "command" or a "url"'],
    [{ command: 'a', args: 'b c' }, 'args: "b c" is not a list of strings'],
  ])('of %j', (entry, fault) => {
    expect(faultsOf(entry)).toEqual([fault]);
  });

  test('reports an invalid pattern', () => {
    const faultOf = (pattern: unknown) =>
      faultsOf({ command: 'a', policies: { deny: [pattern] } }).map((fault) =>
        fault.slice(0, fault.indexOf(' ')),
      );
    for (const pattern of [5, '', 'a'.repeat(257), '@mine']) {
      expect(faultOf(pattern)).toEqual(['policies.deny[0]:']);
    }
    for (const pattern of ['a', '*', 'a'.repeat(256), '@readOnly']) {
      expect(faultOf(pattern)).toEqual([]);
    }
  });

  test('hides environment values, headers and secrets', () => {
    const told = [
      ...faultsOf({ command: 'a', env: { 'A=B': 'hunter2', C: 1234567 } }),
      ...faultsOf({
        url: 'ftp://ann:hunter2@a.example',
        headers: { a: 'hunter2\n', 'b c': 'hunter2' },
      }),
    ].join('\n');
    expect(told).toContain('env.C: the value, a number, is not a string');
    expect(told).toContain('headers.b c: the value, a string, is not a string of one line');
    expect(told).not.toMatch(/hunter2|1234567/);
  });

  test('do not affect other servers', () => {
    const { servers, faults, file } = readHosts(
      { mcpServers: { bad: { command: 3 }, '': { command: 'a' }, good: { command: 'a' } } },
      { file: 'mcp.json' },
    );
    expect(file).toBe('mcp.json');
    expect(servers.get('good')?.kind).toBe('enabled');
    expect(faults.map(formatConfigProblem)).toEqual([
      'mcp.json: server "bad", key "command": 3 is not the name or path of a program',
      'mcp.json: server "": the name is empty',
    ]);
  });
});

test('locates a fault at the line of the nearest existing key', () => {
  const text =
    '\n{"servers": {\n"7": {"url": "https://a.example",\n"colour": 1, "auth":\n{"kind": "client-credentials",\n"clientSecret": "a"}}}}';
  const { faults, remarks } = readHostsText(text);
  expect(faults).toMatchObject([{ key: 'auth.clientId', line: 5 }]);
  expect(remarks).toMatchObject([{ server: '7', key: 'colour', line: 4 }]);
});

test("locates a fault at its line, or its server's line if the key is missing", () => {
  const text = '{"mcpServers": {\n"a": {"command": "x",\n"args": ["y",\n3]},\n"b":\n{}}}';
  const { faults, servers } = readHostsText(text, { file: 'mcp.json' });
  expect(faults.map(({ line, key }) => [line, key])).toEqual([
    [4, 'args[1]'],
    [6, undefined],
  ]);
  expect(servers.get('b')).toMatchObject({ kind: 'invalid', faults: [{ line: 6 }] });
  expect(faults.map(formatConfigProblem)[0]).toBe(
    'mcp.json: line 4, server "a", key "args[1]": 3 is not a string',
  );
});

describe('an invalid file', () => {
  test('reports every syntax error with its position', () => {
    const text = '{\n  "mcpServers": {\n    "a": { "command": b }\n  }\n';
    expect(refusal(() => readHostsText(text, { file: 'mcp.json' }))).toBe(
      [
        'mcp.json: line 3, column 23: invalid symbol',
        'mcp.json: line 3, column 25: value expected',
        'mcp.json: line 5, column 1: close brace expected',
      ].join('\n'),
    );
  });

  test('reports a single syntax error', () => {
    expect(refusal(() => readHostsText('{"mcpServers": {}} x'))).toContain('line 1, column 20');
  });

  test.each([
    ['', 'it is empty'],
    ['[]', 'an array is not an object with the servers under "mcpServers" or "servers"'],
    ['{}', 'it is not an object with the servers under "mcpServers" or "servers"'],
    [
      '{"mcp_servers": {}}',
      'it is not an object with the servers under "mcpServers" or "servers"; is "mcp_servers" meant as that?',
    ],
    [
      '{"name": "app", "version": "1.0.0"}',
      'it is not an object with the servers under "mcpServers" or "servers"\n',
    ],
    ['{"mcpServers": []}', 'key "mcpServers": an array is not an object of servers by name'],
  ])('that says %j', (text, message) => {
    expect(`${refusal(() => readHostsText(text))}\n`).toContain(message);
  });

  test('is rejected beyond 4 MiB or 1000 servers', () => {
    const spaces = ' '.repeat(4 * 1024 ** 2);
    expect(refusal(() => readHostsText(spaces))).toBe('it is empty');
    expect(refusal(() => readHostsText(` ${spaces}`))).toBe('it is longer than 4194304 characters');
    const many = Array.from({ length: 1000 }, (_, at) => [`s${at}`, { disabled: true }] as const);
    expect(readHosts({ servers: Object.fromEntries(many) }).servers.size).toBe(1000);
    const more = Object.fromEntries([...many, ['more', { disabled: true }]]);
    expect(refusal(() => readHosts({ servers: more }))).toBe('it has more than 1000 servers');
  });

  test('is rejected if missing or a directory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await expect(readHostsFile(join(folder, 'no.json'))).rejects.toMatchObject({
      message: expect.stringContaining('file not found'),
      cause: { code: 'ENOENT' },
    });
    await expect(readHostsFile(folder)).rejects.toThrow('it is a directory');
    await expect(readHostsFile('a\0b')).rejects.toThrow(/it cannot be read: .*null bytes/);
    await writeFile(join(folder, 'mcp.json'), '{"mcpServers": {}}');
    expect((await readHostsFile(join(folder, 'mcp.json'))).servers.size).toBe(0);
  });
});

/** A watched file, and what watches its folder. */
async function watched() {
  const folder = await mkdtemp(join(tmpdir(), 'hosts-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const clock = new TestClock();
  const told: unknown[] = [];
  const on = vi.spyOn(EventEmitter.prototype, 'on');
  const stop = watchFile(join(folder, 'mcp.json'), {
    clock,
    changed: () => told.push('changed'),
    failed: (error) => told.push(error),
  });
  const [watcher] = on.mock.contexts;
  on.mockRestore();
  onTestFinished(stop);
  return { watcher: watcher as unknown as EventEmitter, clock, told, stop };
}

describe('a watched file', () => {
  test('is read after 100 ms without changes, regardless of other files', async () => {
    const { watcher, clock, told } = await watched();
    watcher.emit('change', 'rename', 'mcp.json~');
    expect(clock.liveTimers).toBe(0);
    watcher.emit('change', 'rename', 'mcp.json');
    clock.increment(99);
    watcher.emit('change', 'change', 'mcp.json');
    clock.increment(99);
    expect(told).toEqual([]);
    clock.increment(1);
    expect(told).toEqual(['changed']);
    // A system may not say which file it was.
    watcher.emit('change', 'change', null);
    clock.increment(100);
    expect(told).toHaveLength(2);
  });

  test('does not keep the process alive, and stops being watched on request', async () => {
    const watching = () => process.getActiveResourcesInfo().filter((name) => /FSEvent/.test(name));
    const before = watching();
    const { watcher, clock, told, stop } = await watched();
    expect(watching()).toEqual(before);
    const closed = once(watcher, 'close');
    watcher.emit('change', 'rename', 'mcp.json');
    stop();
    await closed;
    clock.increment(100);
    expect(told).toEqual([]);
  });

  test('reports a file that can no longer be watched or has lost its folder', async () => {
    const { watcher, clock, told } = await watched();
    const error = new Error('The disk is gone');
    watcher.emit('error', error);
    expect(told).toEqual([error]);
    const failed: Error[] = [];
    const nowhere = join(tmpdir(), 'no-such-folder', 'mcp.json');
    const options = { clock, changed: () => {}, failed: (each: Error) => failed.push(each) };
    watchFile(nowhere, options)();
    expect(failed).toMatchObject([{ code: 'ENOENT' }]);
  });
});

test.each([
  ['a', {}, true],
  ['a', { allow: [] }, false],
  ['read_file', { allow: ['read_*'] }, true],
  ['unread_file', { allow: ['read_*'] }, false],
  ['read.file', { allow: ['read.file'] }, true],
  ['readxfile', { allow: ['read.file'] }, false],
  ['read_file', { allow: ['*'], deny: ['read_file'] }, false],
  ['read_file', { deny: ['*a*f*e'] }, false],
  ['read_file', { deny: ['*f*a*'] }, true],
  ['aba', { deny: ['ab*ba'] }, true],
  ['axb', { deny: ['a*b*b'] }, true],
  ['abc', { deny: ['a*b*c'] }, false],
  ['a\nb', { deny: ['a*b'] }, false],
  ['', { deny: ['*'] }, false],
  ['', { deny: [''] }, false],
  ['ab', { deny: ['*ab*ab*'] }, true],
  ['abab', { deny: ['*ab*ab*'] }, false],
])('%s is in a list filtered by %j: %s', (tool, filter, is) => {
  expect(isAllowed(tool, filter)).toBe(is);
});

test.each([
  [undefined, true],
  [{ readOnlyHint: false }, true],
  [{ readOnlyHint: true }, false],
  [{ readOnlyHint: true, destructiveHint: true }, false],
  [{ destructiveHint: true }, true],
  [{ destructiveHint: false }, false],
])('a tool annotated %j is destructive: %s', (annotations, is) => {
  expect(fitsTool('@destructive', 'a', { name: 'a', annotations })).toBe(is);
});

test("matches a pattern in time linear in the name's length", () => {
  const name = `${'a'.repeat(400_000)}c`;
  expect(isAllowed(name, { deny: ['*a*a*a*a*b*'] })).toBe(true);
  expect(isAllowed(name, { deny: ['*a*a*a*a*c*'] })).toBe(false);
});
