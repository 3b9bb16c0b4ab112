/** `mcp-actors call` before real servers: what stdout gets, and how it ends. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startProtected } from '../../../client/test/auth/protected-server.ts';
import { repository } from '../../../../test/e2e/server-process.ts';
import { runCommand, smallServer, startCommand, temporaryFolder } from './client-command.ts';

const call = (...args: readonly string[]) => runCommand(['call', ...args]);
/** Also on a busy machine a list comes within this. */
const patient = ['--timeout', '60s'];
const behind = (...tools: readonly string[]) => ['--', ...smallServer, ...tools];

/** A file of servers with these tools each. */
function fileOf(servers: { readonly [name: string]: readonly string[] }): string {
  const file = join(temporaryFolder(), 'mcp.json');
  const [program, script] = smallServer;
  const entries = Object.entries(servers).map(([name, args]) => [
    name,
    { command: program, args: [script, ...args] },
  ]);
  writeFileSync(file, JSON.stringify({ mcpServers: Object.fromEntries(entries) }));
  return file;
}

describe('mcp-actors call', () => {
  test('prints the result alone, though the server writes a banner', async () => {
    const { code, stdout } = await call('one', 'text=hi', ...behind('one', '--banner'));
    expect([code, stdout]).toEqual([0, 'one hi\n']);
  });

  test('calls a tool of a file by its name in the merged list, and starts no other server', async () => {
    const file = fileOf({ a: ['one'], b: ['one', '--deaf'] });
    const { code, stdout, stderr } = await call(file, 'a__one', '{"text":"x"}', '--raw');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ content: [{ type: 'text', text: 'one x' }] });
  });

  test('takes the arguments from stdin', async () => {
    const { stdout } = await runCommand(
      ['call', '--tool', 'one', '-', ...behind('one')],
      '{"text":"y"}',
    );
    expect(stdout).toBe('one y\n');
  });

  test('sends and prints numbers beyond 2^53 as they are written', async () => {
    const raw = ['--', process.execPath, join(repository, 'packages/bridge/test/raw-server.mjs')];
    const [n, id] = ['9007199254740993', '18446744073709551615'];
    const line = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"n":${n}}}}`;
    const lines = `lines=${JSON.stringify([line])}`;
    expect((await call('say', `n=${n}`, lines, '--json', ...raw)).stdout).toBe(`{"n":${n}}\n`);
    expect((await call('say', lines, '--raw', ...raw)).stdout).toContain(`{"n":${n}}`);
    const echo = ['--', process.execPath, join(repository, 'packages/bridge/test/echo-server.mjs')];
    const pairs = await call(
      'echo',
      `n=${n}`,
      `ids=${id}`,
      'ids=-9223372036854775808',
      'text=1',
      ...echo,
    );
    expect(pairs.stdout).toBe(`{"n":${n},"ids":[${id},-9223372036854775808],"text":"1"}\n`);
    const json = await call('echo', `{"ids":[${id}]}`, ...echo);
    expect(json.stdout).toBe(`{"ids":[${id}]}\n`);
    expect((await call('echo', `{"n":1,"n":${n}}`, ...echo)).code).toBe(2);
  });

  test('lists the tools, of one server by their own names', async () => {
    const listed = await call('--list', ...behind('one', 'two'));
    expect(listed.stdout).toBe('one  Says one\ntwo  Says two\n');
    const file = fileOf({ a: ['one'], b: ['two'] });
    const json = await call(file, '--list', '--json', ...patient);
    const tools = JSON.parse(json.stdout) as readonly { readonly name: string }[];
    expect(tools.map(({ name }) => name)).toEqual(['a__one', 'b__two']);
  });

  test('tells what is wrong with the other servers, and lists those that are well', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    const [program, script] = smallServer;
    const mcpServers = {
      good: { command: program, args: [script, 'one'] },
      bad: { command: 5 },
      gone: { command: 'no-such-command-anywhere' },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const { code, stdout, stderr } = await call(file, '--list', ...patient);
    expect([code, stdout]).toEqual([0, 'good__one  Says one\n']);
    expect(stderr).toContain('server "bad", key "command": 5 is not the name or path of a program');
    expect(stderr).toContain('gone: ');
    expect(stderr.match(/"bad"/g)).toHaveLength(1);
  });

  test('lists what is there though a server never greets, and says who that is', async () => {
    const file = fileOf({ a: ['one'], b: ['--deaf'] });
    let stderr = '';
    const listed = async () => {
      const ended = await call(file, '--list');
      ({ stderr } = ended);
      return [ended.code, ended.stdout];
    };
    // On a busy machine the other one may be late, too.
    await expect.poll(listed).toEqual([0, 'a__one  Says one\n']);
    expect(stderr).toMatch(/^mcp-actors call: b has not answered for \d\.\d s: Waiting for b to /);
  });

  test('finds a tool by its own name though a server never greets, and says that it may have one too', async () => {
    const { code, stdout, stderr } = await call(fileOf({ a: ['one'], b: ['--deaf'] }), 'one');
    expect([code, stdout]).toEqual([0, 'one\n']);
    expect(stderr).toMatch(
      /^mcp-actors call: b has not answered for \d+\.\d s: Waiting for b to /m,
    );
  });

  test('prints why a server could not list its tools, ends with 1, and calls them all the same', async () => {
    const server = [
      '--',
      process.execPath,
      join(repository, 'packages/client/test/hosts/bad-list-server.mjs'),
    ];
    const { code, stdout, stderr } = await call('--list', ...server);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('its tools could not be listed');
    expect(stderr).toContain('The database is away');
    const called = await call('bad-list-server__echo', 'text=x', ...server);
    expect([called.code, called.stdout]).toEqual([0, 'echo x\n']);
  });

  test('ends with 2 if something is wrong with each server of the file, and so does the shell', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    const mcpServers = {
      one: { command: 5 },
      two: { url: 7 },
      off: { command: 'a', disabled: true },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    for (const line of [
      ['call', file, '--list'],
      ['call', file, 'a'],
      ['shell', file],
    ]) {
      const { code, stdout, stderr } = await runCommand(line);
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain('server "one", key "command"');
      expect(stderr).toContain('server "two", key "url"');
      expect(stderr).toContain('No usable server in the configuration');
    }
  });

  test.each([
    [['call', 'one', '--', 'http://a:secret@h/mcp?k=secret'], 'mcp-actors call http://h/mcp'],
    [['shell', '--', 'https://h/mcp'], 'mcp-actors shell https://h/mcp'],
    [['check', '--', 'http://h/mcp'], 'mcp-actors check --url http://h/mcp'],
  ])('%j says where a URL stands', async (line, said) => {
    const { code, stderr } = await runCommand(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${said}\n`)]);
    expect(stderr).not.toContain('secret');
  });

  test('ends with 1 if the tool or its server has answered with an error', async () => {
    const { code, stdout } = await call('one', 'text=5', '{}', ...behind('one'));
    expect([code, stdout]).toEqual([2, '']);
    const failed = await call('one', '{"text":5}', ...behind('one'));
    expect(failed.code).toBe(1);
  });

  test('ends with 2 and the nearest name if something is mistyped', async () => {
    const tool = await call('oen', ...behind('one'));
    expect([tool.code, tool.stderr]).toEqual([2, expect.stringContaining('Did you mean one?')]);
    const server = await call(fileOf({ files: ['one'] }), 'one', '--server', 'fiels');
    expect([server.code, server.stderr]).toEqual([
      2,
      expect.stringContaining('Did you mean files?'),
    ]);
    const none = await call();
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('needs a file of servers'),
    ]);
  });

  test('ends with 3 if there is no server, or it is lost before the answer', async () => {
    const missing = await call('one', '--', 'no-such-command-anywhere');
    expect([missing.code, missing.stdout]).toEqual([3, '']);
    expect(missing.stderr).toContain('no-such-command-anywhere');
    const lost = await call('die', ...behind('die'));
    expect([lost.code, lost.stderr]).toEqual([3, expect.stringContaining('7')]);
  });

  test('ends with 4 if the answer takes too long', async () => {
    const { code, stdout } = await call('hang', '--timeout', '2s', ...behind('hang'));
    expect([code, stdout]).toEqual([4, '']);
  });

  test('ends with 5 if the server wants a login', async () => {
    const { url } = await startProtected();
    const { code, stdout } = await call(url.href, 'read');
    expect([code, stdout]).toEqual([5, '']);
  });

  test('answers the questions of the server from a file; without one it says that nobody can', async () => {
    const file = join(temporaryFolder(), 'answers.json');
    writeFileSync(file, '{"name": "Ada"}');
    const answered = await call('ask', '--answer', file, ...behind('ask'));
    expect(JSON.parse(answered.stdout)).toMatchObject({ content: { name: 'Ada' } });
    const alone = await call('ask', ...behind('ask'));
    expect(alone.code).toBe(1);
  });

  test('cancels the call on the wire upon Ctrl-C, ends the server, and ends with 130', async () => {
    const wire = join(temporaryFolder(), 'wire');
    const tee = ['sh', '-c', `tee "${wire}" | "$@"`, 'sh', ...smallServer, 'hang'];
    const { child, ended, shows } = startCommand(
      ['call', 'hang', '-v', '--', ...tee],
      temporaryFolder(),
    );
    await shows('is ready');
    await sent(wire, 'tools/call');
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect([code, stdout]).toEqual([130, '']);
    await sent(wire, 'notifications/cancelled');
  });
});

/** Resolves when the file has this text. It is written by another process, so it is looked at again and again. */
async function sent(file: string, text: string): Promise<void> {
  await expect.poll(() => readFileSync(file, 'utf8')).toContain(text);
}
