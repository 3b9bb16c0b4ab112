/** What the compiler says of a handler that returns the wrong thing: the message names what is expected. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../packages/roots/test/temporary-directory.ts';

const repository = join(import.meta.dirname, '../..');
const manifest = createRequire(import.meta.url).resolve('typescript/package.json');

test('the compiler error for a handler that returns a number names the valid results', async () => {
  const folder = await temporaryDirectory({
    'wrong.ts': `import { defineTool } from '${join(repository, 'src/index.ts')}';
defineTool({ name: 'a', description: 'b', handler: () => 5 });
defineTool({
  name: 'a',
  description: 'b',
  outputSchema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  handler: () => 'x',
});
`,
  });
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: { types: [], noEmit: true, incremental: false },
    files: [join(folder, 'wrong.ts')],
    include: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(dirname(manifest), 'bin', 'tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--checkers', '1', '-p', folder], {
    encoding: 'utf8',
  });
  expect(stdout).toMatch(
    /wrong\.ts\(2,\d+\): .*=> Promise<ToolOutput> \| ToolOutput'.\n +Type 'number' is not assignable to type '.*ToolOutput/,
  );
  expect(stdout).toMatch(/wrong\.ts\(7,\d+\): .*StructuredOutput<\{ readonly n: number; \}>/);
  expect(stdout).not.toContain('Returned<');
});
