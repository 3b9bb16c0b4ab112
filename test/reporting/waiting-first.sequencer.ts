import { readFileSync } from 'node:fs';
import { BaseSequencer } from 'vitest/node';
import type { TestSpecification } from 'vitest/node';

/** What a file imports or uses whose tests wait for a process, a store or a page. */
const waits =
  /process\.execPath|node:child_process|(?:-process|-command|-server|programs|chromium|serving|storm|stage)\.ts'/;

/**
 * Files whose tests wait begin first, and beside them others compute. What only computes is short, and fills the end of the run: a file
 * that waits for half a minute would hold it up alone there. Without it a first run, as in CI, goes by the size of files, which says
 * nothing of that.
 */
export default class WaitingFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId, project }: TestSpecification): number => {
      // One worker has all files that are not isolated: they stay together.
      if (project.config.isolate) return 0;
      return waits.test(readFileSync(moduleId, 'utf8')) ? 1 : 2;
    };
    const ranks = new Map(sorted.map((file) => [file, rank(file)]));
    return sorted.toSorted((a, b) => (ranks.get(a) ?? 0) - (ranks.get(b) ?? 0));
  }
}
