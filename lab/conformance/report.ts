/** Parser for the conformance suite's output. */

export interface ConformanceReport {
  readonly lines: readonly string[];
  /**
   * True if the suite finished, all required scenarios passed, and every other failure has a known
   * reason.
   */
  readonly passed: boolean;
}

/** Reasons for failures that do not count, by scenario. A passing scenario must not be listed. */
export type KnownReasons = { readonly [scenario: string]: string };

/** Scenarios the suite has run, with whether they passed. */
export function readOutcomes(output: string): ReadonlyMap<string, boolean> {
  const results = output.slice(Math.max(0, output.indexOf('=== SUMMARY ===')));
  return new Map(
    [...results.matchAll(/^([✓✗]) (\S+): (\d+) passed, \d+ failed$/gm)].map(
      ([, mark, name = '', checks]) => [name, mark === '✓' && checks !== '0'],
    ),
  );
}

/** Differences between a newer release of the suite and the pinned one, a line per scenario. */
export function differences(
  pinned: ReadonlyMap<string, boolean>,
  newest: ReadonlyMap<string, boolean>,
): readonly string[] {
  const word = (outcome: boolean | undefined): string =>
    outcome === undefined ? 'not there' : outcome ? 'passed' : 'failed';
  return [...new Set([...pinned.keys(), ...newest.keys()])]
    .filter((scenario) => pinned.get(scenario) !== newest.get(scenario))
    .map(
      (scenario) =>
        `${scenario}: ${word(pinned.get(scenario))}, in the newer one ${word(newest.get(scenario))}`,
    );
}

/**
 * Parses the suite's output: `✓ scenario: n passed, m failed` for each, then those that do not
 * count. A scenario without passed checks has tested nothing.
 *
 * @param passedAlone scenarios that failed in the suite but passed alone, because the suite allows
 * a stream 800 ms for its first messages
 */
export function readReport(
  output: string,
  revision: string,
  reasons: KnownReasons = {},
  passedAlone: readonly string[] = [],
): ConformanceReport {
  const [, uncounted = ''] = output
    .slice(Math.max(0, output.indexOf('=== SUMMARY ===')))
    .split('\nNot scored');
  const counted = new Map(readOutcomes(output));
  for (const name of passedAlone) counted.set(name, true);
  const others = new Map<string, boolean>();
  for (const [, name = ''] of uncounted.matchAll(/^ {2}[✓✗] (\S+) \(/gm)) {
    others.set(name, counted.get(name) ?? false);
    counted.delete(name);
  }
  const failed = failedOf(counted);
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : '';
  const notes = [...noteFailed(others, reasons), ...noteStale(others, reasons)];
  const passedOthers = others.size - failedOf(others).length;
  return {
    lines: [
      `conformance ${revision}: ${counted.size - failed.length} of ${counted.size} required scenarios passed, ${failed.length} failed${names}; of ${others.size} that do not count ${passedOthers} passed`,
      ...notes.map(({ text }) => `  ${text}`),
      ...passedAlone.map((name) => `  ${name}: failed in the suite, passed alone`),
    ],
    passed: counted.size > 0 && failed.length === 0 && notes.every(({ isKnown }) => isKnown),
  };
}

function failedOf(scenarios: ReadonlyMap<string, boolean>): readonly string[] {
  return [...scenarios].filter(([, ok]) => !ok).map(([name]) => name);
}

interface Note {
  readonly text: string;
  readonly isKnown: boolean;
}

function noteFailed(others: ReadonlyMap<string, boolean>, reasons: KnownReasons): readonly Note[] {
  return failedOf(others).map((name) => {
    const reason = reasons[name];
    return {
      text: `${name}: ${reason ?? 'failed, and nobody knows why'}`,
      isKnown: reason !== undefined,
    };
  });
}

function noteStale(others: ReadonlyMap<string, boolean>, reasons: KnownReasons): readonly Note[] {
  return Object.keys(reasons)
    .filter((name) => others.get(name) === true)
    .map((name) => ({
      text: `${name}: passed, though there is a reason why it fails`,
      isKnown: false,
    }));
}
