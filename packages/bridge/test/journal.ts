/** What arrives at the processes of `journal-server.mjs`, which all write it into one file. */
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { TestContext } from 'vitest';
import { expectEmpty } from '../../processes/test/process-table.ts';

export class Journal {
  readonly path: string;

  private constructor(folder: string) {
    this.path = join(folder, 'journal');
  }

  /** Until the test is over. By then none of the processes may be left. */
  static async of(context: TestContext): Promise<Journal> {
    const folder = await mkdtemp(join(tmpdir(), 'journal-'));
    const journal = new Journal(folder);
    // The last of all: whoever has processes has ended before.
    context.onTestFinished(async () => {
      for (const pid of journal.started()) {
        await vi.waitFor(() => expectEmpty(pid), { timeout: 100_000 });
      }
      await rm(folder, { recursive: true });
    });
    return journal;
  }

  /** In order. */
  arrived(): readonly string[] {
    return existsSync(this.path) ? readFileSync(this.path, 'utf8').trim().split('\n') : [];
  }

  /** The ids of the processes. */
  started(): readonly number[] {
    return this.arrived().flatMap((line) =>
      line.endsWith(' start') ? [Number(line.split(' ')[0])] : [],
    );
  }
}
