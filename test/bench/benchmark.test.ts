import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const minuteMs = 60_000;

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const resultsShape = z.object({
  rows: z.array(
    z.object({
      key: z.string(),
      cells: z.array(z.object({ server: z.string(), value: z.number().optional() })),
    }),
  ),
  failures: z.array(z.object({ server: z.string(), measure: z.string(), failure: z.string() })),
});

/** Runs the benchmark. How long anything takes is not looked at: other tests run meanwhile. */
function bench(
  extent: '--quick' | '--smoke',
  servers: readonly string[],
  ...options: readonly string[]
) {
  const json = join(folder, `${servers.join()}.json`);
  const args = ['bench/main.ts', extent, '--servers', servers.join(), '--json', json, ...options];
  const { status, stderr, stdout } = spawnSync(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return {
    status,
    stderr,
    stdout,
    read: () => resultsShape.parse(JSON.parse(readFileSync(json, 'utf8'))),
  };
}

describe('the benchmark', () => {
  test(
    'measures ours and the floor, whose every answer is right',
    { timeout: 2 * minuteMs },
    () => {
      const { status, stderr, read } = bench('--quick', ['floor', 'mcp-actors']);
      expect(stderr).not.toContain('Error');
      const { rows, failures } = read();
      expect(failures).toEqual([]);
      expect(status).toBe(0);
      const unmeasured = rows.flatMap(({ key, cells }) =>
        cells.flatMap(({ server, value }) => (value === undefined ? `${server} ${key}` : [])),
      );
      // Processor time and memory come from procfs, which only Linux has.
      expect(process.platform === 'linux' ? unmeasured : []).toEqual([]);
      const lost = rows.find(({ key }) => key === 'unread.lost');
      expect(lost?.cells.map(({ value }) => value)).toEqual([0, 0]);
    },
  );

  test('measures peers that it has installed by itself', { timeout: 5 * minuteMs }, (context) => {
    const { status, stderr, stdout, read } = bench(
      '--smoke',
      ['mcp-lite', 'tmcp', 'sdk-1', 'sdk-2', 'fastmcp'],
      '--measures=start,asking',
    );
    const reason = /SKIPPED: .*/.exec(stderr)?.[0];
    if (reason !== undefined) context.skip(reason);
    expect({ status, failures: read().failures }, stdout).toEqual({ status: 0, failures: [] });
  });

  test('installs what its lockfile says, from whichever registry the user has', () => {
    const lock = readFileSync(join(root, 'bench', 'package-lock.json'), 'utf8');
    expect(lock).not.toContain('"resolved": "http');
    const { dependencies } = z
      .object({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(join(root, 'bench', 'package.json'), 'utf8')));
    const loose = Object.entries(dependencies).filter(
      ([, range]) => !/^\d+\.\d+\.\d+$/.test(range),
    );
    expect(loose).toEqual([]);
  });
});
