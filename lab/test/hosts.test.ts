import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runtimes } from '../hosts/runtimes.ts';
import { faultsOf, runChecks } from '../hosts/scenario.ts';
import type { Scenario } from '../hosts/scenario.ts';

const scenario: Scenario = {
  name: 'reads',
  job: {
    launch: { command: 'node', args: [], cwd: '/' },
    root: 'file:///',
    calls: [{ tool: 'read', args: {} }],
  },
  tools: ['read', 'list'],
  expected: ['the text'],
};

test('faultsOf accepts a host that lists the tools and passes the text to the model', () => {
  const seen = { tools: ['list', 'read', 'more'], handed: ['{"text":"the text"}'] };
  expect(faultsOf(scenario, seen)).toEqual([]);
});

test('faultsOf reports an unlisted tool and a missing text with the actual values', () => {
  expect(faultsOf(scenario, { tools: ['read'], handed: ['[object Object]'] })).toEqual([
    'lists no tool list, but read',
    'read should hand the model "the text", but hands [object Object]',
  ]);
  expect(faultsOf(scenario, { tools: scenario.tools, handed: [] })).toHaveLength(1);
});

test('runChecks prints a line per check, including skipped ones, and counts a throwing check as failed', async () => {
  const lines: string[] = [];
  const checks = [
    { name: 'good', run: () => Promise.resolve([]) },
    { name: 'bad', run: () => Promise.resolve(['one', 'two']) },
    { name: 'broken', run: () => Promise.reject(new Error('it ended with 1:\nno such file')) },
    {
      name: 'gone',
      missing: 'the registry is out of reach',
      run: () => Promise.reject(new Error('is not run')),
    },
  ];
  expect(await runChecks(checks, (line) => lines.push(line))).toEqual({
    passed: 1,
    failed: 2,
    skipped: 1,
  });
  expect(lines).toEqual([
    '✓ good',
    '✗ bad',
    '    one',
    '    two',
    '✗ broken',
    '    Error: it ended with 1:\n    no such file',
    '- gone: skipped: the registry is out of reach',
  ]);
});

test.each(['README.md', 'docs/maintaining/platforms.md'])(
  '%s names the tested runtimes',
  (page) => {
    const text = readFileSync(join(import.meta.dirname, '../..', page), 'utf8');
    const names = runtimes.map(({ name }) => name);
    const majors = names.flatMap((name) => /^Node (\d+)/.exec(name)?.[1] ?? []);
    const others = names.flatMap((name) => /^(?:Bun|Deno) \d+\.\d+/.exec(name)?.[0] ?? []);
    expect(majors.length + others.length).toBe(runtimes.length);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(
      `Node ${majors.slice(0, -1).join(', ')} and ${majors.at(-1)}, ${others.join(' and ')}`,
    );
  },
);
