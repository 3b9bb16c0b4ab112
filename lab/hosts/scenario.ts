/** Jobs for a host, and what the model behind it should receive. */

/** Command line of a server. A type alias, so that it can be sent as JSON. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

export interface Job {
  readonly launch: Launch;
  readonly calls: readonly { readonly tool: string; readonly args: object }[];
  /** URI of the root that hosts with roots list. */
  readonly root: string;
}

/** Result of a host's job. */
export interface Seen {
  readonly tools: readonly string[];
  /** Texts the model receives, one per call of the job. */
  readonly handed: readonly string[];
}

export interface Scenario {
  readonly name: string;
  readonly job: Job;
  /** Tools that must be listed. */
  readonly tools: readonly string[];
  /** Text that must occur in what the model receives, one per call. */
  readonly expected: readonly string[];
}

/** Faults in a host's result; empty if none. */
export function faultsOf({ job, tools, expected }: Scenario, seen: Seen): readonly string[] {
  const missing = tools.filter((name) => !seen.tools.includes(name));
  const faults = missing.map((name) => `lists no tool ${name}, but ${seen.tools.join(', ')}`);
  for (const [at, { tool }] of job.calls.entries()) {
    const handed = seen.handed[at] ?? '';
    const wanted = expected[at] as string;
    if (handed.includes(wanted)) continue;
    faults.push(`${tool} should hand the model ${JSON.stringify(wanted)}, but hands ${handed}`);
  }
  return faults;
}

/** One test, with a line in the report. */
export interface Check {
  readonly name: string;
  /** Reason it cannot run. */
  readonly missing?: string | undefined;
  /** Returns the faults; empty if none. */
  readonly run: () => Promise<readonly string[]>;
}

/** Runs checks sequentially and prints a line for each; skipped ones are counted as well. */
export async function runChecks(
  checks: readonly Check[],
  say: (line: string) => void,
): Promise<{ passed: number; failed: number; skipped: number }> {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, missing, run } of checks) {
    if (missing !== undefined) {
      counts.skipped += 1;
      say(`- ${name}: skipped: ${missing}`);
      continue;
    }
    const faults = await run().catch((error: unknown) => [String(error)]);
    counts[faults.length === 0 ? 'passed' : 'failed'] += 1;
    say(faults.length === 0 ? `✓ ${name}` : `✗ ${name}`);
    for (const fault of faults) say(`    ${fault.replaceAll('\n', '\n    ')}`);
  }
  return counts;
}
