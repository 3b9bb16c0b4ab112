import { describe, expect, test } from 'vitest';
import { readReport } from '../../scripts/conformance-report.ts';

const report = (results: string, rest = '') =>
  readReport(
    `✓ noise: 1 passed, 0 failed\n\n=== SUMMARY ===\n${results}\n\nTotal: 9 passed, 9 failed\n${rest}`,
    '2025-11-25',
  );

describe('the line that sums up the conformance suite', () => {
  test('counts the scenarios that are required', () => {
    const { line, complete } = report(
      '✓ ping: 2 passed, 0 failed\n✓ tools-list: 3 passed, 0 failed',
    );
    expect(line).toBe(
      'conformance 2025-11-25: 2 of 2 required scenarios passed, 0 failed; 0 more run that do not count',
    );
    expect(complete).toBe(true);
  });

  test('names those that failed', () => {
    const { line } = report('✓ ping: 2 passed, 0 failed\n✗ tools-list: 1 passed, 2 failed');
    expect(line).toContain('1 of 2 required scenarios passed, 1 failed (tools-list);');
  });

  test('leaves out those that do not count, whatever came of them', () => {
    const { line } = report(
      '✓ ping: 2 passed, 0 failed\n✗ server-sse-polling: 0 passed, 1 failed\n✓ extra: 1 passed, 0 failed',
      '\nNot scored for 2025-11-25: 2 scenario(s) run, 1 failing.\n  ✗ server-sse-polling (pending)\n  ✓ extra (added-after-release)\n',
    );
    expect(line).toContain(
      '1 of 1 required scenarios passed, 0 failed; 2 more run that do not count',
    );
  });

  test('is not complete where the suite has run nothing that counts', () => {
    expect(readReport('npm error: no network\n', '2025-11-25').complete).toBe(false);
  });
});
