/**
 * Installs the packed files into an empty folder, as a user would, and greets the command in both eras:
 * `npm run release -- try [FOLDER]`. It needs nothing but Node and npm, so the workflow runs it on three systems by
 * `node scripts/release.ts try` under Node 24.
 */
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { must, run } from './command.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface ManifestOfPeers {
  readonly version: string;
  readonly peerDependencies: { readonly [name: string]: string };
  readonly devDependencies: { readonly [name: string]: string };
}

const manifestOfRoot = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
) as ManifestOfPeers;

/** What is installed beside the packed files: the peers of the library, and the official client, which greets. */
const beside = ['@modelcontextprotocol/client', 'rxjs', 'xstate'].map(
  (name) => `${name}@${manifestOfRoot.devDependencies[name]}`,
);

/**
 * @param folder an empty one
 * @param tarballs absolute paths
 */
async function installPacked(folder: string, tarballs: readonly string[]): Promise<void> {
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const args = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs, ...beside];
  await must(run, 'npm', args, { cwd: folder });
}

/** Greets a command in both eras. It needs the official client beside it. */
export const greeter = join(root, 'scripts/release/greet.mjs');

/**
 * Greets a command in both eras.
 *
 * @param script the greeter, or a copy of it where the official client is installed
 * @param command is started in `cwd`
 * @param source what decides which project is served: an argument, or `cwd`
 * @throws {Error} it is not the server of this version in one of them; says what came
 */
export async function greetBoth(
  script: string,
  command: readonly string[],
  cwd: string,
  source: 'argument' | 'cwd',
): Promise<void> {
  const { output } = await must(run, 'node', [script, ...command], { cwd, isAsked: true });
  const tools = 'workspace_info list_directory find_files search_text read_file';
  const expected = ['legacy', 'modern'].map((era) =>
    JSON.stringify({ era, version: manifestOfRoot.version, tools, source }),
  );
  if (output.trim() !== expected.join('\n')) {
    throw new Error(`The command has answered\n${output}and not\n${expected.join('\n')}`);
  }
}

async function tryPacked(packed: string): Promise<void> {
  const tarballs = readdirSync(packed)
    .filter((name) => name.endsWith('.tgz'))
    .map((name) => join(packed, name));
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  try {
    await installPacked(folder, tarballs);
    writeFileSync(
      join(folder, 'load.mjs'),
      [
        'mcp-actors',
        'mcp-actors/client',
        'mcp-actors/http',
        'mcp-actors/serve',
        '@mcp-actors/inspector',
        '@mcp-actors/openapi',
      ]
        .map((name) => `await import('${name}');\n`)
        .join(''),
    );
    await must(run, 'node', ['load.mjs'], { cwd: folder });
    // By npx, as hosts start it: it finds what is installed, and asks no registry.
    const script = join(folder, 'greet.mjs');
    copyFileSync(greeter, script);
    await greetBoth(script, ['npx', '--no', 'mcp-actors', 'workspace', '.'], folder, 'argument');
    console.log(`${tarballs.length} packages: installed, loaded, and greeted in both eras`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param args the folder of the packed files. Default: `packed` */
export async function step(args: readonly string[]): Promise<void> {
  await tryPacked(resolve(args[0] ?? 'packed'));
}
