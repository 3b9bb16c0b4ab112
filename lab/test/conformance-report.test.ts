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

describe('conformance report', () => {
  test('counts the required scenarios', () => {
    const { lines, passed } = report(`${ping}\n✓ tools-list: 3 passed, 0 failed`);
    expect(lines).toEqual([
      'conformance 2025-11-25: 2 of 2 required scenarios passed, 0 failed; of 0 that do not count 0 passed',
    ]);
    expect(passed).toBe(true);
  });

  test('names failed scenarios', () => {
    const { lines, passed } = report(`${ping}\n✗ tools-list: 1 passed, 2 failed`);
    expect(lines[0]).toContain('1 of 2 required scenarios passed, 1 failed (tools-list);');
    expect(passed).toBe(false);
  });

  test('counts a scenario that failed in the suite but passed alone, with a remark', () => {
    const results = `${ping}\n✗ listen: 29 passed, 1 failed\n✗ tools-list: 1 passed, 2 failed`;
    const { lines, passed } = report(results, '', {}, ['listen']);
    expect(lines[0]).toContain('2 of 3 required scenarios passed, 1 failed (tools-list);');
    expect(lines[1]).toBe('  listen: failed in the suite, passed alone');
    expect(passed).toBe(false);
    expect(report(results, '', {}, ['listen', 'tools-list']).passed).toBe(true);
  });

  test('treats a scenario without checks as failed', () => {
    const { lines, passed } = report(`${ping}\n✓ tools-list: 0 passed, 0 failed`);
    expect(lines[0]).toContain('1 failed (tools-list);');
    expect(passed).toBe(false);
  });

  test('names failures that do not count with their reason', () => {
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

  test('does not accept a failure outside the score without a reason', () => {
    const { lines, passed } = report(
      `${ping}\n✗ extra: 0 passed, 1 failed`,
      unscored('extra', '✗'),
    );
    expect(lines[1]).toBe('  extra: failed, and nobody knows why');
    expect(passed).toBe(false);
  });

  test('does not accept a reason for a scenario that passed', () => {
    const { lines, passed } = report(
      `${ping}\n✓ extra: 1 passed, 0 failed`,
      unscored('extra', '✓'),
      { extra: 'it is not offered' },
    );
    expect(lines[1]).toBe('  extra: passed, though there is a reason why it fails');
    expect(passed).toBe(false);
  });

  test('does not accept a suite that ran nothing that counts', () => {
    expect(readReport('npm error: no network\n', '2025-11-25').passed).toBe(false);
  });

  test('lists the differences of a newer suite by scenario', () => {
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
