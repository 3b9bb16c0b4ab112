import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { program } from '../tooling/programs.ts';
import { gone, launch, reapServers, workspaceCommand } from './server-process.ts';

/**
 * Keeps ripgrep busy for minutes: many links to one file, and an expression that it cannot
 * optimize. Each file matches, so lines of the first are read immediately.
 */
const expression = 'needle|(?:[\\w\\s]{1,60}[aeiou]){3}[^\\w\\s.]{9}';
const names = 3000;
let directory: string;

beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'mcp-actors-')));
  const first = join(directory, 'file.txt');
  writeFileSync(first, `needle\n${'The quick brown fox jumps over the lazy dog.\n'.repeat(1000)}`);
  for (let index = 1; index < names; index += 1)
    linkSync(first, join(directory, `file${index}.txt`));
});
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(reapServers);

/** Child processes of this process. */
function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
    .filter((text) => text.trim() !== '')
    .map(Number);
}

async function searching() {
  const server = launch([...workspaceCommand, '--search-timeout=1h', directory]);
  await server.initialize();
  server.send({
    id: 1,
    method: 'tools/call',
    params: { name: 'search_text', arguments: { pattern: expression, regex: true, limit: 1000 } },
  });
  const pid = server.child.pid as number;
  const searches = await vi.waitFor(
    () => {
      const found = childrenOf(pid);
      // One process finds files, the other reads them.
      expect(found).toHaveLength(2);
      return found;
    },
    { timeout: 100_000 },
  );
  return { server, searches };
}

describe.runIf(process.platform === 'linux')('a running search ends with the process', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGKILL'] as const)('after %s', async (signal) => {
    const { server, searches } = await searching();
    server.child.kill(signal);
    await server.exit;
    for (const pid of searches) await gone(pid);
  });

  test('immediately after the second signal', async () => {
    const { server, searches } = await searching();
    server.child.kill('SIGTERM');
    server.child.kill('SIGINT');
    await server.exit;
    for (const pid of searches) await gone(pid);
  });
});

test.runIf(process.platform === 'linux')(
  'reports a lack of file descriptors, and the next search finds its binary',
  () => {
    const args = ['-c', 'ulimit -n 64; exec "$0" "$@"', process.execPath];
    const programArgs = [...program('test/e2e/starved-search.ts'), directory];
    const output = execFileSync('sh', [...args, ...programArgs], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual({
      starved: expect.stringContaining('cannot be read (EMFILE)'),
      hungry: expect.stringContaining('ripgrep could not be started (EMFILE)'),
      fed: expect.arrayContaining(['./file.txt']),
    });
  },
);
