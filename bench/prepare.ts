/** What a run needs before it starts besides the peers: our own server as plain JavaScript. */
import { join } from 'node:path';
import { build } from 'esbuild';
import { benchFolder, buildFolder } from './servers.ts';

/** Builds our server the way a user's compiler would: its own code alone, with the library beside it as it is published. */
export async function buildServer(): Promise<void> {
  await build({
    entryPoints: [join(benchFolder, 'servers', 'mcp-actors.ts')],
    outfile: join(buildFolder, 'mcp-actors.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'library-as-published',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^mcp-actors$/ }, () => ({
            path: '../../dist/index.js',
            external: true,
          })),
      },
    ],
  });
}
