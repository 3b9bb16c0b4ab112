/**
 * Invariants a play cannot test, because something else had failed before, are not counted as
 * broken.
 */
import { createInterface } from 'node:readline';
import { PassThrough } from 'node:stream';
import { McpServer as OldServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport as OldStdio } from '@modelcontextprotocol/sdk/server/stdio.js';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import { describe, expect, test } from 'vitest';
import type { CheckReport } from '../src/check-report.ts';
import { checkServer } from '../src/check-server.ts';
import type { CheckOptions } from '../src/check-server.ts';
import type { PlayTimes } from '../src/player.ts';
import { parseSequence } from '../src/move.ts';
import type { Launch } from '../src/server-process.ts';
import { launchInside } from './launch-inside.ts';

const handshake = 'initialize wait initialized wait';
const times = { startMs: 5_000, answerMs: 5_000, endMs: 5_000, quietMs: 5 };

async function check(
  launch: Launch,
  plays: readonly string[],
  more: {
    readonly id?: string;
    readonly revision?: string;
    readonly times?: PlayTimes;
    readonly movesTime?: boolean;
    readonly tools?: CheckOptions['tools'];
  } = {},
): Promise<CheckReport> {
  const { id, ...others } = more;
  const sequences = plays.map((text) => {
    const read = parseSequence(text);
    if ('unknown' in read) throw new Error(`Unknown move ${read.unknown}`);
    return read.moves;
  });
  return checkServer({
    launch,
    revision: '2025-11-25',
    tools: new Map(),
    rootsUri: 'file:///check',
    times,
    seed: 1,
    walks: 0,
    jobs: 1,
    sequences,
    ...(id === undefined ? {} : { only: new Set([id]) }),
    ...others,
  });
}

describe('a play with a failed precondition', () => {
  test.for([
    ['parse-error-survived', 'malformed'],
    ['invalid-request-survived', 'invalid'],
    ['stray-answer-survived', 'answer-unknown'],
    ['invalid-cancel-ignored', 'cancel-unknown'],
  ])('does not test %s: an earlier request had no answer', async ([id, move]) => {
    const launch = launchInside(['mute-on-unknown'], true);
    const plays = [`${handshake} unknown-method wait ${move} wait`];
    const { findings } = await check(launch, plays, { id, movesTime: true });
    expect(findings.map(({ outcome }) => outcome)).toEqual(['untried']);
  });

  test.for([
    ['no change', handshake],
    ['each change after the answer to its query', `${handshake} answer wait roots-changed wait`],
    ['one change during a query', `${handshake} roots-changed wait answer wait answer wait`],
  ])('does not test one-roots-query: there is %s', async ([, plays = '']) => {
    const { findings } = await check(launchInside([], true), [plays], {
      id: 'one-roots-query',
      movesTime: true,
    });
    expect(findings.map(({ outcome }) => outcome)).toEqual(['untried']);
  });

  test.for([
    ['sends no requests', ['never-asks'], 'initialize-bare wait initialized wait', 'untried'],
    [
      'asks when roots change alone',
      ['asks-on-change'],
      'initialize-bare wait initialized wait',
      'untried',
    ],
    ['queries roots after initialized', [], 'initialize-bare wait initialized wait', 'holds'],
  ] as const)(
    'tests client-capabilities only where it can be violated: the server %s',
    async (row) => {
      const [, faults, play, outcome] = row;
      const launch = launchInside([...faults], true);
      const { findings } = await check(launch, [play], {
        id: 'client-capabilities',
        movesTime: true,
      });
      expect(findings.map((finding) => finding.outcome)).toEqual([outcome]);
    },
  );

  test('does not test answers-before-end: the server was killed before it exited', async () => {
    const launch = launchInside(['handles-later', 'stays'], true);
    const { findings } = await check(launch, ['initialize-bare wait initialized wait last'], {
      id: 'answers-before-end',
      times: { ...times, startMs: 300, endMs: 30 },
    });
    expect(findings.map(({ outcome }) => outcome)).toEqual(['untried']);
  });
});

describe('a server that queries the roots only on change', () => {
  test.for([
    ['queues a query per change', ['queues-queries'], 'broken'],
    ['queries once more', [], 'holds'],
  ] as const)('tests one-roots-query of a server that %s on a roots change', async (row) => {
    const [, faults, outcome] = row;
    const launch = launchInside(['asks-on-change', ...faults], true);
    const { findings } = await checkServer({
      ...{ launch, revision: '2025-11-25', tools: new Map(), rootsUri: 'file:///check', times },
      ...{ seed: 1, walks: 0, jobs: 1, movesTime: true, only: new Set(['one-roots-query']) },
    });
    expect(findings.map((finding) => finding.outcome)).toEqual([outcome]);
  });
});

describe('a server that outlives its input', () => {
  test('waits for a server that outlives its input in full twice, then for 300 ms', async () => {
    const waits: number[] = [];
    const launch: Launch = (listener) => {
      const wire = launchInside(['stays'], true)(listener);
      const awaited: number[] = [];
      return {
        ...wire,
        passTime: async (durationMs) => {
          awaited.push(durationMs);
          await wire.passTime?.(durationMs);
        },
        end: () => {
          awaited.length = 0;
          wire.end();
        },
        kill: () => {
          // The player kills it again at the end of the play.
          waits.push(...awaited.splice(0));
          wire.kill();
        },
      };
    };
    const plays = Array.from({ length: 4 }, () => handshake);
    await check(launch, plays, { id: 'ping', times: { ...times, endMs: 400 } });
    expect(waits.slice(0, 2)).toEqual([400, 400]);
    expect(waits.length).toBeGreaterThan(3);
    expect(new Set(waits.slice(2))).toEqual(new Set([300]));
  });
});

describe('an official SDK server', () => {
  const info = { name: 'official', version: '1' };
  const done = () => ({ content: [] });
  type Serve = (input: PassThrough, output: PassThrough) => unknown;
  const first: Serve = (input, output) => {
    const server = new OldServer(info);
    server.registerTool('echo', {}, done);
    return server.connect(new OldStdio(input, output));
  };
  const second: Serve = (input, output) => {
    const made = () => {
      const server = new McpServer(info);
      server.registerTool('echo', {}, done);
      return server;
    };
    return serveStdio(made, { transport: new StdioServerTransport(input, output) });
  };
  /** In this process, over pipes. */
  const launched =
    (serve: Serve): Launch =>
    (listener) => {
      const [input, output] = [new PassThrough(), new PassThrough()];
      const lines = createInterface({ input: output }).on('line', (line) => listener.line(line));
      lines.once('close', () => listener.ended({ code: 0, signal: null }));
      serve(input, output);
      const end = () => void input.end(() => output.end());
      return { send: (text) => void input.write(text), end, kill: end };
    };

  test.for<[generation: string, revision: string, serve: Serve, sdk: string]>([
    ['1', '2025-11-25', first, '@modelcontextprotocol/sdk or @modelcontextprotocol/server'],
    ['2', '2025-11-25', second, '@modelcontextprotocol/sdk or @modelcontextprotocol/server'],
    ['2', '2026-07-28', second, '@modelcontextprotocol/server'],
  ])(
    'names the official SDK in a note with its faults: %s in %s',
    async ([, revision, serve, sdk]) => {
      const start = revision === '2026-07-28' ? 'list wait' : handshake;
      const launch = launched(serve);
      const plays = [`${start} unknown-method wait`, `${start} bad-cursor wait`];
      const { notes } = await check(launch, plays, { revision });
      expect(notes).toEqual([
        `The server is built with the official TypeScript SDK (${sdk}), which causes these findings: invalid-cursor`,
      ]);
    },
  );

  test('does not test asks-what-is-declared without a tool that requests input', async () => {
    const { findings } = await check(launched(second), ['call-bare:echo wait'], {
      id: 'asks-what-is-declared',
      revision: '2026-07-28',
      tools: new Map([['echo', {}]]),
    });
    expect(findings.map(({ outcome }) => outcome)).toEqual(['untried']);
  });

  test('does not suspect the SDK behind a server without it', async () => {
    const plays = [`${handshake} unknown-method wait`, `${handshake} bad-cursor wait`];
    const { findings, notes } = await check(launchInside(['lenient']), plays);
    expect(findings.find(({ id }) => id === 'invalid-cursor')?.outcome).toBe('broken');
    expect(notes).toEqual([]);
  });
});
