import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createMcpServer, memory } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { answerSignal } from '../../serve/src/doctor/answer.ts';
import { queryBySignal, queryOnPipe } from '../src/doctor/ask.ts';
import {
  exchangeFault,
  openExchange,
  pidsWithPipe,
  pipeOf,
  socketPath,
  userId,
} from '../../serve/src/doctor/exchange.ts';
import { fromPs, secondsOf, serveArguments } from '../src/doctor/process-table.ts';
import { command, examine } from '../src/doctor/doctor.ts';
import { answerDoctors } from '../../serve/src/doctor/dump-answer.ts';

let base: string;

beforeAll(() => {
  // As the doctor does: the path of a socket is short, and macOS has long ones for temporary files.
  base = mkdtempSync('/tmp/mcp-actors-');
  mkdirSync(join(base, 'project'));
});
afterAll(() => rmSync(base, { recursive: true }));

/** A directory that others may look into. */
function open(name: string): string {
  const directory = join(base, name);
  mkdirSync(directory);
  chmodSync(directory, 0o755);
  return directory;
}

function dump(change: Partial<SessionDump> = {}): SessionDump {
  const session = createMcpServer({ name: 'under-test', version: '1' }).listen(memory().transport);
  onTestFinished(() => session[Symbol.asyncDispose]());
  return { ...session.dump(), ...change };
}

/** Collects what is written. */
function written() {
  const texts: string[] = [];
  return { texts, sink: { write: (text: string) => texts.push(text) > 0 } };
}

describe('the directory where the doctor and a process meet', () => {
  test('is made for its user alone', () => {
    const directory = join(base, 'made');
    expect(openExchange(directory)).toBeUndefined();
    expect(exchangeFault(directory)).toBeUndefined();
    expect(openExchange(directory)).toBeUndefined();
  });

  test('is not used if others may look into it, and the doctor says so', async () => {
    const directory = open('shared');
    expect(await queryBySignal(process.pid, 100, directory)).toEqual({
      ok: false,
      problem: expect.stringMatching(/shared, .* is open to other users .*kill -USR2 PID/),
    });
    expect(existsSync(directory)).toBe(true);
  });

  test("is not used if it is another user's, and the doctor says whose it is and what to do", () => {
    const directory = join(base, 'foreign');
    openExchange(directory);
    const owner = userId();
    expect(exchangeFault(directory, owner + 1)).toMatch(
      new RegExp(
        `foreign, .* belongs to another user \\(id ${owner}\\) .* root can remove it\\. .*kill -USR2`,
      ),
    );
  });

  test('is not used if it is a link, a file, or cannot be made', async () => {
    const [link, file] = [join(base, 'link'), join(base, 'file')];
    openExchange(join(base, 'target'));
    symlinkSync(join(base, 'target'), link);
    writeFileSync(file, '');
    expect(openExchange(link)).toMatch(
      /link, .* is a symbolic link and not a directory\. Remove it/,
    );
    expect(openExchange(file)).toMatch(/file, .* is a file and not a directory\. Remove it/);
    const below = join(file, 'below');
    expect(await queryBySignal(process.pid, 100, below)).toMatchObject({
      ok: false,
      problem: expect.stringMatching(/below cannot be made \(ENOTDIR/),
    });
  });

  test('gives a process no question where others could have put it', async () => {
    const directory = open('planted');
    writeFileSync(socketPath(directory, process.pid, 'planted'), '');
    const { texts, sink } = written();
    await answerSignal({ dumps: [dump()] }, sink, directory);
    expect(texts).toHaveLength(1);
    expect(existsSync(socketPath(directory, process.pid, 'planted'))).toBe(true);
  });

  test('loses what a doctor has left in it that ended early; the answer goes to stderr then', async () => {
    const directory = join(base, 'left');
    openExchange(directory);
    const left = socketPath(directory, process.pid, 'left');
    const foreign = socketPath(directory, process.pid + 1, 'left');
    const twoMinutesAgo = Date.now() / 1000 - 120;
    for (const path of [left, foreign]) {
      writeFileSync(path, '');
      utimesSync(path, twoMinutesAgo, twoMinutesAgo);
    }
    const { texts, sink } = written();
    await answerSignal({ dumps: [dump()] }, sink, directory);
    expect(texts.join('')).toMatch(/^mcp-actors .*, process \d+\nSession .*: uninitialized/);
    expect([existsSync(left), existsSync(foreign)]).toEqual([false, true]);
  });

  test('keeps the socket of a doctor that has made it and does not listen on it yet', async () => {
    const directory = join(base, 'beginning');
    openExchange(directory);
    const beginning = socketPath(directory, process.pid, 'beginning');
    writeFileSync(beginning, '');
    await answerSignal({ dumps: [dump()] }, written().sink, directory);
    expect(existsSync(beginning)).toBe(true);
  });
});

describe('an answer', () => {
  const nowhere = () => join(base, 'nowhere');

  test('holds no secrets', async () => {
    const { texts, sink } = written();
    const list = [{ uri: 'https://ada:hunter2@host/?token=abcdef' }];
    const roots = { state: 'known', tags: ['settled'], list } as const;
    await answerSignal({ dumps: [dump({ roots })] }, sink, nowhere());
    expect(texts.join('')).toContain('https://[redacted]@host/?token=[redacted]');
    expect(texts.join('')).not.toMatch(/hunter2|abcdef/);
  });

  test('says so where no session is open', async () => {
    const { texts, sink } = written();
    await answerSignal({ dumps: [] }, sink, nowhere());
    expect(texts.join('')).toMatch(/No session is open\n$/);
  });

  test('that cannot be given is logged, and hurts nobody', async () => {
    const facts: { readonly name: string; readonly message: string }[] = [];
    let signal = () => {};
    answerDoctors(
      {
        dumps: () => {
          throw new Error('nothing to see');
        },
        stderr: written().sink,
        log: { report: (fact) => facts.push(fact) },
      },
      {
        on: (_: string, listener: () => void) => {
          signal = listener;
          return process;
        },
      } as never,
    );
    signal();
    await expect.poll(() => facts).toMatchObject([{ name: 'dump.failed' }]);
    expect(facts[0]?.message).toMatch(/nothing to see/);
  });
});

describe('a process that no signal can ask', () => {
  /** It has a pipe in a folder, as all have in one of Windows. */
  async function startOn(name: string, facts: unknown[] = []): Promise<string> {
    const folder = join(base, `${name}/`);
    mkdirSync(folder);
    const source = {
      dumps: () => [dump()],
      stderr: written().sink,
      log: { report: (fact: unknown) => facts.push(fact) },
    };
    answerDoctors(source, process, { pipes: folder });
    await expect.poll(() => pidsWithPipe(folder)).toEqual([process.pid]);
    return folder;
  }

  const values = { json: false, whole: false, help: false, timeout: 60_000 } as const;

  /** What is written to an output from now on. */
  function writes(output: NodeJS.WriteStream): readonly string[] {
    const texts: string[] = [];
    const spy = vi.spyOn(output, 'write').mockImplementation((text, ...rest: unknown[]) => {
      texts.push(String(text));
      (rest.at(-1) as (() => void) | undefined)?.();
      return true;
    });
    onTestFinished(() => spy.mockRestore());
    return texts;
  }

  /** What comes on its pipe until that ends. */
  async function told(folder: string, text: string): Promise<string> {
    const socket = connect(pipeOf(folder, process.pid)).setEncoding('utf8');
    socket.write(text);
    let answer = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => (answer += String(chunk)));
    await once(socket, 'close');
    return answer;
  }

  test('is found by its pipe, and answers on it', async () => {
    const folder = await startOn('pipes');
    writeFileSync(join(folder, 'another-12'), '');
    writeFileSync(join(folder, 'mcp-actors-inspect'), '');
    expect(pidsWithPipe(folder)).toEqual([process.pid]);
    const outcome = await queryOnPipe(folder, process.pid, 60_000);
    expect(outcome).toMatchObject({ ok: true, answer: { pid: process.pid, sessions: [{}] } });
    const output = writes(process.stdout);
    expect(await examine(values, [], { pipes: folder })).toBe(0);
    expect(output.join('')).toContain(`process ${process.pid}`);
  });

  test('hangs up on those that ask anything else', async () => {
    const folder = await startOn('strangers');
    expect(await told(folder, 'GET / HTTP/1.1\r\n\r\n')).toBe('');
    expect(await told(folder, 'dump\ndump\n')).toBe('');
    expect(JSON.parse(await told(folder, 'dump\n'))).toMatchObject({ pid: process.pid });
  });

  test('that has ended, or is of another user, is no serving one', async () => {
    const folder = join(base, 'left-pipes/');
    mkdirSync(folder);
    writeFileSync(join(folder, 'mcp-actors-7'), '');
    const problem = 'Process 7 is not a serving mcp-actors process of yours';
    expect(await queryOnPipe(folder, 7, 60_000)).toMatchObject({
      problem: expect.stringContaining(problem),
    });
    const output = writes(process.stderr);
    expect(await examine(values, [], { pipes: folder })).toBe(1);
    expect(await examine(values, ['7'], { pipes: folder })).toBe(1);
    expect(output).toEqual([
      'mcp-actors doctor: No serving mcp-actors process of yours on this machine\n',
      expect.stringContaining(problem),
    ]);
  });

  test('that does not answer is said to be busy', async () => {
    const folder = join(base, 'busy/');
    mkdirSync(folder);
    const server = createServer(() => {}).listen(pipeOf(folder, 7));
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    expect(await queryOnPipe(folder, 7, 20)).toEqual({
      ok: false,
      problem: 'Process 7 is busy: no answer within 20 ms',
    });
  });

  test('whose pipe cannot be made says so, and serves', async () => {
    const facts: unknown[] = [];
    const source = {
      dumps: () => [],
      stderr: written().sink,
      log: { report: (fact: unknown) => facts.push(fact) },
    };
    answerDoctors(source, process, { pipes: join(base, 'nowhere/') });
    await expect.poll(() => facts).toMatchObject([{ name: 'dump.failed', level: 'error' }]);
  });
});

test.each([
  [['0'], /must be a process id, got "0"/],
  [['-5'], /Unknown option -5\. See mcp-actors doctor --help/],
  [['--frobnicate'], /Unknown option --frobnicate\. See mcp-actors doctor --help/],
  [['--timeout=0'], /--timeout must be 1ms to 10min, got "0"/],
])('the doctor refuses %j and says why', async (args, message) => {
  await expect(command.run(args, import.meta.url)).rejects.toThrow(message);
});

describe('a command line', () => {
  const cli = join(import.meta.dirname, '../dist/cli.js');

  test.each<[readonly string[], readonly string[] | undefined]>([
    [['/usr/bin/node', cli, '/work'], ['/work']],
    [['node', '--enable-source-maps', '-r', 'x.js', cli], []],
    [['/opt/node-20', '/app/node_modules/.bin/mcp-actors', 'serve'], ['serve']],
    [['node', '/gone/node_modules/@mcp-actors/cli/dist/cli.js'], []],
    [['bun', cli, '/work'], ['/work']],
    [['/opt/deno', 'run', '--allow-all', cli, '/work'], ['/work']],
    [['deno', 'run', '-A', 'npm:@mcp-actors/cli@0.1.0', '/work'], ['/work']],
    // Other commands of ours do not serve.
    [['node', cli, 'doctor'], undefined],
    [['node', cli, 'diagram', 'roots'], undefined],
    // What only speaks of it.
    [['vim', cli], undefined],
    [['npm exec mcp-actors /work'], undefined],
    [['node', '/usr/bin/npx', 'mcp-actors'], undefined],
    [['node', '/usr/bin/nodemon', 'mcp-actors'], undefined],
    [['node', 'run', 'mcp-actors'], undefined],
    [['bundle', 'mcp-actors'], undefined],
    [['deno', 'run', '-A', 'npm:@mcp-actors/cli-of-another'], undefined],
    [['sh', '-c', 'mcp-actors /work'], undefined],
    [['node', '/other/dist/cli.js'], undefined],
    [['node', '-e', '1', 'mcp-actors'], undefined],
    [['node'], undefined],
    [[], undefined],
  ])('%j serves with %j', (argv, args) => {
    expect(serveArguments(argv, base)).toEqual(args);
  });

  test('is read relative to where the process works', () => {
    const root = join(import.meta.dirname, '../../..');
    expect(serveArguments(['node', 'packages/cli/dist/cli.js'], root)).toEqual([]);
    expect(serveArguments(['node', 'packages/cli/dist/cli.js'], base)).toBeUndefined();
    expect(serveArguments(['node', '--import', 'tsx', 'packages/cli/src/cli.ts'], root)).toEqual(
      [],
    );
  });

  test.each([
    ['00:02', 2],
    ['01:02:03', 3723],
    ['2-00:00:01', 172_801],
  ])('that ps says to be %s old is %i seconds old', (age, seconds) => {
    expect(secondsOf(age)).toBe(seconds);
  });

  test.each([
    ['00:02', false],
    ['00:03', true],
  ])('that ps says to be %s old is taken to listen: %s', (age, listens) => {
    const line = `4194305 ${process.getuid?.()} S ${age} node ${cli} --roots-timeout=10min`;
    expect(fromPs(`${line}\n`)).toEqual([
      { pid: 4194305, args: ['--roots-timeout=10min'], listens, activity: 'S' },
    ]);
  });
});
