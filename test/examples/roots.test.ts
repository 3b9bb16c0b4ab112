import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { closeClients, connect, textOf } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';
import { temporaryDirectory } from '../../packages/roots/test/temporary-directory.ts';

afterEach(closeClients);

test('reads only inside the roots of the official client', async () => {
  const directory = await temporaryDirectory({
    'docs/a.md': 'one',
    'code/package.json': '{}',
    'code/a.md': 'one\ntwo',
  });
  const roots = [join(directory, 'docs'), join(directory, 'code')];
  const sdk = await connect(program('examples/roots/server.ts'), { roots });
  const count = async (path: string) => textOf(await sdk.callRaw('count_lines', { path }));
  expect(await count('a.md')).toBe(`2 lines in a.md, of ${roots[1]}`);
  expect(await count(join(directory, 'docs/a.md'))).toContain('1 lines in');
  expect(await count('/etc/passwd')).toMatch(/^OUTSIDE_ROOTS: /);
});
