import { describe, expect, test } from 'vitest';
import { differences, readOutcomes, readReport } from '../conformance/report.ts';
import type { KnownReasons } from '../conformance/report.ts';

const report = (
  results: string,
  rest = '',
  reasons: KnownReasons = {},
  alone: readonly string[] = [],
) =>
  readReport(
    `✓ noise: 1 passed, 0 failed\n\n=== SUMMARY ===\n${results}\n\nTotal: 9 passed, 9 failed\n${rest}`,
    '2025-11-25',
    reasons,
    alone,
  );

const ping = '✓ ping: 2 passed, 0 failed';

const unscored = (name: string, mark: '✓' | '✗') =>
  `\nNot scored for 2025-11-25: 1 scenario(s) run.\n  ${mark} ${name} (pending)\n`;

describe('the lines that sum up the conformance suite', () => {
  test('count the scenarios that are required', () => {
    const { lines, passed } = report(`${ping}\n✓ tools-list: 3 passed, 0 failed`);
    expect(lines).toEqual([
      'conformance 2025-11-25: 2 of 2 required scenarios passed, 0 failed; of 0 that do not count 0 passed',
    ]);
    expect(passed).toBe(true);
  });

  test('name those that failed', () => {
    const { lines, passed } = report(`${ping}\n✗ tools-list: 1 passed, 2 failed`);
    expect(lines[0]).toContain('1 of 2 required scenarios passed, 1 failed (tools-list);');
    expect(passed).toBe(false);
  });

  test('count one that failed in the suite and passed alone, and say so', () => {
    const results = `${ping}\n✗ listen: 29 passed, 1 failed\n✗ tools-list: 1 passed, 2 failed`;
    const { lines, passed } = report(results, '', {}, ['listen']);
    expect(lines[0]).toContain('2 of 3 required scenarios passed, 1 failed (tools-list);');
    expect(lines[1]).toBe('  listen: failed in the suite, passed alone');
    expect(passed).toBe(false);
    expect(report(results, '', {}, ['listen', 'tools-list']).passed).toBe(true);
  });

  test('take a scenario that has checked nothing for one that failed', () => {
    const { lines, passed } = report(`${ping}\n✓ tools-list: 0 passed, 0 failed`);
    expect(lines[0]).toContain('1 failed (tools-list);');
    expect(passed).toBe(false);
  });

  test('name what fails and does not count, with the reason', () => {
    const { lines, passed } = report(
      `${ping}\n✗ server-sse-polling: 0 passed, 1 failed`,
      unscored('server-sse-polling', '✗'),
      { 'server-sse-polling': 'it is not offered' },
    );
    expect(lines).toEqual([
      'conformance 2025-11-25: 1 of 1 required scenarios passed, 0 failed; of 1 that do not count 0 passed',
      '  server-sse-polling: it is not offered',
    ]);
    expect(passed).toBe(true);
  });

  test('do not pass what fails and does not count, if there is no reason', () => {
    const { lines, passed } = report(
      `${ping}\n✗ extra: 0 passed, 1 failed`,
      unscored('extra', '✗'),
    );
    expect(lines[1]).toBe('  extra: failed, and nobody knows why');
    expect(passed).toBe(false);
  });

  test('do not pass a reason for what has not failed', () => {
    const { lines, passed } = report(
      `${ping}\n✓ extra: 1 passed, 0 failed`,
      unscored('extra', '✓'),
      { extra: 'it is not offered' },
    );
    expect(lines[1]).toBe('  extra: passed, though there is a reason why it fails');
    expect(passed).toBe(false);
  });

  test('do not pass a suite that has run nothing that counts', () => {
    expect(readReport('npm error: no network\n', '2025-11-25').passed).toBe(false);
  });

  test('say what a newer suite finds otherwise, scenario by scenario', () => {
    const older = readOutcomes(`=== SUMMARY ===\n${ping}\n✓ gone: 1 passed, 0 failed\n`);
    const newer = readOutcomes(
      '=== SUMMARY ===\n✗ ping: 1 passed, 1 failed\n✓ new: 1 passed, 0 failed\n',
    );
    expect(differences(older, newer)).toEqual([
      'ping: passed, in the newer one failed',
      'gone: passed, in the newer one not there',
      'new: not there, in the newer one passed',
    ]);
    expect(differences(older, older)).toEqual([]);
  });
});
