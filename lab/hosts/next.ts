/** The route example in Next.js: built, and served to the official clients. */
import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Check } from './scenario.ts';
import { buildModule, freePort, served } from './serving.ts';
import type { Subject } from './subject.ts';

const packages = ['next@16.4.6', 'react@19.3.1', 'react-dom@19.3.1'];

/** Installed on demand because of its size. */
export function nextCheck(subject: Subject): Check {
  let installed: ReturnType<Subject['beside']> | undefined;
  const install = () => (installed ??= subject.beside('next', ...packages));
  return {
    name: 'Next 16.4.6, a route: serves clients of both eras',
    get missing() {
      return install().missing;
    },
    run: async () => {
      const { folder } = install();
      const route = join(folder, 'app', 'mcp');
      mkdirSync(route, { recursive: true });
      await buildModule(join(route, 'route.js'), `export * from './next-route.ts'`);
      const next = join(folder, 'node_modules', 'next', 'dist', 'bin', 'next');
      const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
      await promisify(execFile)(process.execPath, [next, 'build'], { cwd: folder, env });
      const at = await freePort();
      const args = [next, 'start', '--hostname', '127.0.0.1', '--port', `${at}`];
      return served({ program: process.execPath, args, folder }, at);
    },
  };
}
