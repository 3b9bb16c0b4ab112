/** Skips, with the reason, what cannot run on this system. Linux has all that tests need, and does without this file. */
import { beforeEach } from 'vitest';
import { lackOf } from './systems.ts';

beforeEach(({ task, skip }) => {
  const lack = lackOf(process.platform, task.file.filepath, task.fullName);
  skip(lack !== undefined, lack);
});
