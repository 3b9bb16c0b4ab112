/** What the conformance suite has printed, as one line. */

export interface ConformanceReport {
  readonly line: string;
  /** The suite has come to its end and has run something that counts. */
  readonly complete: boolean;
}

/** Reads the suite's output: `✓ scenario: n passed, m failed` for each, then those that do not count. */
export function readReport(output: string, revision: string): ConformanceReport {
  const [results = '', uncounted = ''] = output
    .slice(Math.max(0, output.indexOf('=== SUMMARY ===')))
    .split('\nNot scored');
  const counted = new Map<string, boolean>();
  for (const [, mark, name = ''] of results.matchAll(/^([✓✗]) (\S+): \d+ passed, \d+ failed$/gm)) {
    counted.set(name, mark === '✓');
  }
  let others = 0;
  for (const [, name = ''] of uncounted.matchAll(/^ {2}[✓✗] (\S+) \(/gm)) {
    counted.delete(name);
    others++;
  }
  const passed = [...counted.values()].filter(Boolean).length;
  const failed = [...counted].filter(([, ok]) => !ok).map(([name]) => name);
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : '';
  return {
    line: `conformance ${revision}: ${passed} of ${counted.size} required scenarios passed, ${failed.length} failed${names}; ${others} more run that do not count`,
    complete: counted.size > 0,
  };
}
