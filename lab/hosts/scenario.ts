/** What a host is asked to do, and what the model behind it should have seen. */

/** How a server is started. A type, so that it may be sent as JSON. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

export interface Job {
  readonly launch: Launch;
  readonly calls: readonly { readonly tool: string; readonly args: object }[];
  /** The root that a host lists if it declares any, as a URI. */
  readonly root: string;
}

/** What a host made of a job. */
export interface Seen {
  readonly tools: readonly string[];
  /** What the model is handed, for each call of the job. */
  readonly handed: readonly string[];
}

export interface Scenario {
  readonly name: string;
  readonly job: Job;
  /** Tools that have to be among those listed. */
  readonly tools: readonly string[];
  /** What must stand in the text that the model is handed, for each call of the job. */
  readonly expected: readonly string[];
}

/** What is wrong with what a host saw; empty if nothing is. */
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

/** One thing that is tried, in a line of the report. */
export interface Check {
  readonly name: string;
  /** Why it cannot be tried. */
  readonly missing?: string | undefined;
  /** Gives what is wrong; empty if nothing is. */
  readonly run: () => Promise<readonly string[]>;
}

/** Runs one check after the other and prints a line for each; those that cannot be tried are counted too. */
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
