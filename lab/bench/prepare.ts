/** Prepares our own servers as plain JavaScript. */
import { basename, join } from 'node:path';
import { build } from 'esbuild';
import { benchFolder, buildFolder } from './servers.ts';
import type { Server } from './servers.ts';

/**
 * Builds our own servers like a user's compiler would: only their own code, with the published
 * library beside it.
 */
export async function buildServers(servers: readonly Server[]): Promise<void> {
  const built = servers.filter(({ module }) => module.startsWith(buildFolder));
  await build({
    entryPoints: [...new Set(built.map(({ module }) => basename(module, '.mjs')))].map((name) =>
      join(benchFolder, 'servers', `${name}.ts`),
    ),
    outdir: buildFolder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'library-as-published',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^mcp-actors(\/|$)/ }, ({ path }) => ({
            path: `../../../dist${path.slice('mcp-actors'.length)}/index.js`,
            external: true,
          })),
      },
    ],
  });
}
