import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { JsonObject } from 'mcp-actors';
import { enveloped, expectReplay } from 'mcp-actors/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { makeNamedPipe } from '../../packages/roots/test/named-pipe.ts';
import { closeClients, connectAnswering } from './sdk-client.ts';
import { command, launch, reapServers, repository, workspaceCommand } from './server-process.ts';
import type { Line } from './server-process.ts';

let base: string;
let files = 0;
const newFile = () => join(base, `session-${++files}.jsonl`);

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
});
afterAll(() => rmSync(base, { recursive: true }));
afterEach(closeClients);
afterEach(reapServers);

const recordingServer = program('test/e2e/recording-server.ts');

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command with this on stdin. */
function run(args: readonly string[], input = ''): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...command, ...args], (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

describe('a session with the official client', () => {
  test('with requests, a cancellation and changed roots is recorded and replays, and a modified frame does not', async () => {
    const file = newFile();
    const sdk = await connectAnswering([...recordingServer, file]);
    await sdk.call('list_roots');
    await Promise.all([sdk.changeRoots([]), sdk.changeRoots([base])]);
    await sdk.call('list_roots');
    for (const kind of ['elicitation', 'sampling', 'roots']) {
      await sdk.call('ask', { kind, count: 2, concurrent: true });
    }
    const controller = new AbortController();
    const slow = sdk.client.callTool({ name: 'slow', arguments: { ms: 60_000 } }, undefined, {
      signal: controller.signal,
    });
    controller.abort('enough');
    await expect(slow).rejects.toThrow('enough');
    await sdk.call('echo', { message: 'still here' });
    await closeClients();

    const { outputs } = await expectReplay(file);
    expect(outputs).toBeGreaterThan(30);
    const text = readFileSync(file, 'utf8');
    expect(text).toContain('elicitation/create');
    expect(text).toContain('sampling/createMessage');
    const same = await run(['replay', file]);
    expect(same).toMatchObject({ code: 0, stderr: '' });
    expect(same.stdout).toMatch(/as recorded: \d+ inputs given, \d+ outputs compared\n$/);

    const changed = newFile();
    writeFileSync(changed, text.replace(/("server":.*)still here/, '$1not here'));
    const different = await run(['replay', changed]);
    expect(different.code).toBe(1);
    expect(different.stdout).toContain(`${changed}:`);
    expect(different.stdout).toMatch(/^- .*not here/m);
    expect(different.stdout).toMatch(/^\+ .*still here/m);
  });
});

describe('mcp-actors --record', () => {
  const introduce = async (args: readonly string[]) => {
    const server = launch([...workspaceCommand, ...args], { cwd: repository });
    await server.initialize();
    await server.request(1, 'tools/call', {
      name: 'find_files',
      arguments: { globs: ['src/index.ts'] },
    });
    return server;
  };

  test('writes a file readable by its owner only that replays, with the live workspace too, and is never overwritten', async () => {
    const file = newFile();
    const server = await introduce(['--record', file]);
    server.child.stdin.end();
    expect(await server.exit).toMatchObject({ code: 0 });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect((await run(['replay', file])).code).toBe(0);
    const live = await run(['replay', '--live-handlers', file]);
    expect(live).toMatchObject({ code: 0, stderr: '' });
    const elsewhere = await run(['replay', '--live-handlers', file, base]);
    expect(elsewhere.code).toBe(1);
    expect(elsewhere.stdout).toContain('sends something else');
    const before = readFileSync(file, 'utf8');
    const again = await run(['workspace', '--record', file]);
    expect(again).toMatchObject({ code: 2, stdout: '' });
    expect(again.stderr).toContain('is there already');
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  test('creates a new file in a directory each time, complete even after SIGTERM', async () => {
    const folder = mkdtempSync(join(base, 'folder-'));
    const servers = [await introduce(['--record', folder]), await introduce(['--record', folder])];
    for (const server of servers) server.child.kill('SIGTERM');
    for (const { exit } of servers) expect(await exit).toMatchObject({ code: 0 });
    const names = readdirSync(folder);
    expect(names).toHaveLength(2);
    for (const name of names) {
      const { note } = await expectReplay(join(folder, name));
      expect(note).toBeUndefined();
      expect(readFileSync(join(folder, name), 'utf8')).toContain('"shutdown":"SIGTERM"');
    }
  });

  test('records a modern session that replays without the key of its process, with the live workspace too', async () => {
    const file = newFile();
    const server = launch([...workspaceCommand, '--record', file], { cwd: repository });
    const params = { name: 'find_files', arguments: { globs: ['package.json'] } };
    const ask = async (id: string, method: string, more: object) => {
      server.send(enveloped(id, method, more as JsonObject, { capabilities: { roots: {} } }));
      return (await server.answer(id))['result'] as Line;
    };
    await ask('probe', 'server/discover', {});
    const { inputRequests, requestState } = await ask('first', 'tools/call', params);
    const [key] = Object.keys(inputRequests as object) as [string];
    const inputResponses = { [key]: { roots: [{ uri: pathToFileURL(repository).href }] } };
    const retry = { ...params, requestState, inputResponses };
    expect(await ask('second', 'tools/call', retry)).toMatchObject({
      resultType: 'complete',
      content: [{ text: expect.stringContaining('package.json') as string }],
    });
    server.child.stdin.end();
    expect(await server.exit).toMatchObject({ code: 0 });
    expect(await run(['replay', file])).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['replay', '--live-handlers', file])).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(file, 'utf8')).not.toContain(requestState);
  });

  test('has written everything when the process is killed', async () => {
    const file = newFile();
    const server = await introduce(['--record', file]);
    // The answer to the second call proves that the turn of the first is over.
    await server.request(2, 'ping');
    await server.request(3, 'ping');
    server.child.kill('SIGKILL');
    await server.exit;
    const { note } = await expectReplay(file);
    expect(note).toContain('killed');
    expect(readFileSync(file, 'utf8')).toContain('"id":2,"method":"ping"');
  });

  test.runIf(existsSync('/dev/full'))(
    'reports a full disk once in the log, and the session continues',
    async () => {
      const server = await introduce(['--record', '/dev/full']);
      await server.request(2, 'ping');
      server.child.stdin.end();
      expect(await server.exit).toMatchObject({ code: 0 });
      const told = server.log.all.filter(({ event }) => event === 'recording.failed');
      expect(told).toHaveLength(1);
    },
  );

  test.concurrent.each([
    [['--record', '/no/such/folder/x.jsonl'], /^mcp-actors: --record: .* cannot be made: ENOENT/],
    [['--record-limit', '1MiB'], /^mcp-actors: --record-limit needs --record FILE$/m],
    [['--record-unredacted'], /^mcp-actors: --record-unredacted needs --record FILE$/m],
    [
      ['--record', 'x', '--record-limit', '1KiB'],
      /^mcp-actors: --record-limit must be 4KiB to \d+B, got "1KiB"$/m,
    ],
  ])('rejects %j', async (args, message) => {
    const { code, stdout, stderr } = await run(['workspace', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

describe('mcp-actors replay', () => {
  const transcript = fileURLToPath(new URL('../transcripts/roots-flow.jsonl', import.meta.url));
  const recorded = fileURLToPath(
    new URL('../transcripts/recorded-stale-roots.jsonl', import.meta.url),
  );

  test('prints help with --help', async () => {
    const { code, stdout } = await run(['replay', '--help']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: mcp-actors replay \[options\] FILE/);
    expect(stdout).toContain('--live-handlers');
  });

  test.concurrent.each<[readonly string[], RegExp]>([
    [[], /^mcp-actors: replay needs the FILE/],
    [['gone.jsonl'], /^mcp-actors: gone.jsonl cannot be read: ENOENT/],
    [[transcript], /^mcp-actors: .*roots-flow.jsonl:1: this is a transcript without a header/],
    [[repository], /^mcp-actors: .* must be a regular file/],
    [['/dev/zero'], /^mcp-actors: \/dev\/zero must be a regular file/],
    [[join(repository, 'package.json')], /^mcp-actors: .*package.json:1: this is not JSON/],
    [['x.jsonl', 'directory'], /^mcp-actors: replay takes directories only with --live-handlers/],
    [['--inspct', 'x.jsonl'], /^mcp-actors: Unknown option --inspct/],
  ])('exits with 2 and a reason for %j', async (args, message) => {
    const { code, stdout, stderr } = await run(['replay', ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });

  test('rejects a pipe without a writer', async () => {
    const pipe = join(base, 'pipe');
    makeNamedPipe(pipe);
    const { code, stderr } = await run(['replay', pipe]);
    expect([code, stderr]).toEqual([2, `mcp-actors: ${pipe} must be a regular file\n`]);
  });

  test('rejects invalid directories with --live-handlers', async () => {
    const file = newFile();
    const [header = '{}'] = readFileSync(recorded, 'utf8').split('\n', 1);
    const launch = { directories: [1] };
    writeFileSync(file, `${JSON.stringify({ ...(JSON.parse(header) as object), launch })}\n`);
    const { code, stderr } = await run(['replay', '--live-handlers', file]);
    const fault = `${file}:1: the header of the recording: "launch.directories" must be an array of strings, got an array`;
    expect([code, stderr]).toEqual([2, `mcp-actors: ${fault}\n`]);
  });

  test('ends with one sentence for a header that describes no session', async () => {
    const file = newFile();
    const [header = '{}', ...rest] = readFileSync(recorded, 'utf8').split('\n');
    const { limits, ...others } = JSON.parse(header) as { readonly limits: object };
    const spoilt = { ...others, limits: { ...limits, maxRunning: -1 } };
    writeFileSync(file, [JSON.stringify(spoilt), ...rest].join('\n'));
    const { code, stderr } = await run(['replay', file]);
    const fault = 'limits.maxRunning must be a number of at least 1, got -1';
    expect([code, stderr]).toEqual([
      2,
      `mcp-actors: ${file}:1: the header of the recording: ${fault}\n`,
    ]);
  });

  test('escapes control characters of a recording and its name in a terminal', async () => {
    const evil = '\u001b[31mred\u0007\u009b2J\u202e';
    const header = readFileSync(recorded, 'utf8').split('\n', 1);
    const lines = [
      { server: { evil } },
      { started: 1, id: 1, method: evil },
      { machine: 'session', on: evil, from: 'a', to: 'b' },
      { [evil]: 1 },
      { stopped: evil },
    ].map((line) => JSON.stringify(line));
    // Nothing is escaped as in JSON.
    const raw = lines.map((line) => line.replaceAll('\\u001b', '\u001b'));
    const outputs = [...lines, ...raw].map(async (line, at) => {
      const file = join(base, `${evil}${at}.jsonl`);
      writeFileSync(file, [...header, line, ''].join('\n'));
      const { stdout, stderr } = await run(['replay', file]);
      return stdout + stderr;
    });
    for (const output of await Promise.all(outputs)) {
      expect(output).toContain('red');
      expect(output.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  });

  test('waits for Enter before each input with --step, and ends on q', async () => {
    const child = spawn(process.execPath, [...command, 'replay', '--step', recorded]);
    let shown = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
    const showed = async (part: string) => {
      while (!shown.includes(part)) await once(child.stdout, 'data');
    };
    await showed('\n3? ');
    expect(shown).not.toContain('initialize');
    child.stdin.write('\n');
    await showed('"to":"negotiated"');
    await showed('? ');
    expect(shown).not.toContain('roots/list');
    child.stdin.write('\n');
    await showed('"querying.fresh"');
    child.stdin.write('q\n');
    const [code] = (await once(child, 'close')) as [number];
    expect(code).toBe(0);
    expect(shown).not.toContain('as recorded');
  });

  test('runs to the end with --step once stdin has ended', async () => {
    const { code, stdout } = await run(['replay', '--step', recorded], '\n');
    expect(code).toBe(0);
    expect(stdout).toMatch(/as recorded: \d+ inputs/);
  });
});
