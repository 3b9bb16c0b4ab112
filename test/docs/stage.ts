/** The environment for the commands of a page: a folder with the files that the page mentions. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { kill } from '../../packages/processes/test/process-table.ts';
import { program, programs } from '../tooling/programs.ts';
import { repository } from './pages.ts';

/** Requirements of a page's commands besides the built command. */
export interface Scene {
  /** Files in the folder, by name. */
  readonly files?: { readonly [name: string]: string };
  /** Local replacements for words of the page, such as a process id. */
  readonly words?: { readonly [word: string]: string };
  /** Further commands as shell scripts. `"$MCP_ACTORS"` runs the built one. */
  readonly commands?: { readonly [name: string]: string };
  /** True to run in the repository instead of a folder. */
  readonly inRepository?: true;
  /** Allowed exit codes of a line other than 0. */
  readonly exits?: { readonly [line: string]: readonly number[] };
  /** Changes the folder after a line. */
  readonly after?: { readonly [line: string]: (folder: string) => Promise<void> };
  /** Stops whatever the scene has started. */
  close?(): Promise<void>;
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Time limit of a line, for lines that hang. */
const timeoutMs = 100_000;

/** Commands that tests must not run on this machine, or that need other machines. */
const forbidden = /\b(npm (ci|install|i|publish|version)|git (clone|push)|curl|sudo)\b/;

export class Stage {
  readonly folder: string;
  readonly #scene: Scene;

  private constructor(folder: string, scene: Scene) {
    this.folder = folder;
    this.#scene = scene;
  }

  static async open(scene: Scene): Promise<Stage> {
    const stage = new Stage(await mkdtemp(join(tmpdir(), 'docs-')), scene);
    const { files = {}, commands = {} } = scene;
    for (const [name, text] of Object.entries(files)) await stage.#write(name, text);
    for (const [name, text] of Object.entries({ ...usualCommands, ...commands })) {
      await stage.#write(`.bin/${name}`, `#!/bin/sh\n${text}\n`);
      await chmod(join(stage.folder, '.bin', name), 0o755);
    }
    // Like in a user's project.
    await mkdir(join(stage.folder, 'node_modules'));
    const packages = {
      'mcp-actors': '.',
      zod: 'node_modules/zod',
      '@modelcontextprotocol': 'node_modules/@modelcontextprotocol',
    };
    for (const [name, path] of Object.entries(packages)) {
      await symlink(join(repository, path), join(stage.folder, 'node_modules', name), 'junction');
    }
    return stage;
  }

  /** Runs a line of a page to its end, with empty stdin. */
  async run(line: string): Promise<Outcome> {
    if (forbidden.test(line)) {
      throw new Error(`No test runs "${line}": put "<!-- not run: why -->" above its block`);
    }
    const { words, after = {} } = this.#scene;
    const meant = Object.entries({ '/path/to/project': this.folder, ...words });
    const command = meant.reduce((text, [word, meaning]) => text.replaceAll(word, meaning), line);
    const outcome = await this.#spawn(command);
    await after[line.replace(/\s+#.*$/, '')]?.(this.folder);
    return outcome;
  }

  /** Allowed exit codes of the line. */
  exitsOf(line: string): readonly number[] {
    return this.#scene.exits?.[line.replace(/\s+#.*$/, '')] ?? [0];
  }

  async close(): Promise<void> {
    await this.#scene.close?.();
    await rm(this.folder, { recursive: true, force: true });
  }

  #spawn(command: string): Promise<Outcome> {
    const bundles = programs.map((source) => `${source}=${program(source)[0]}`).join('\n');
    const child = spawn('sh', ['-c', command], {
      cwd: this.#scene.inRepository ? repository : this.folder,
      env: {
        ...process.env,
        PATH: `${join(this.folder, '.bin')}${delimiter}${process.env['PATH']}`,
        MCP_ACTORS: join(this.folder, '.bin', 'mcp-actors'),
        REPOSITORY: repository,
        NODE: process.execPath,
        BUNDLES: bundles,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const killer = setTimeout(() => kill(-(child.pid as number)), timeoutMs);
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => {
        clearTimeout(killer);
        resolve({ code, stdout, stderr });
      });
    });
  }

  async #write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

/** A user's installed packages. */
const usualCommands = {
  'mcp-actors': 'exec "$NODE" "$REPOSITORY/packages/cli/dist/cli.js" "$@"',
  // The package and tsx are already installed. The bundle of the global setup needs no tsx.
  npx: `[ "$1" = -y ] && shift
case $1 in
  @mcp-actors/cli) shift; exec "$MCP_ACTORS" "$@" ;;
  tsx)
    bundle=$(printf '%s\\n' "$BUNDLES" | sed -n "s#^$2=##p")
    [ -n "$bundle" ] || { echo "test/tooling/programs.ts does not have $2" >&2; exit 127; }
    shift 2; exec "$NODE" "$bundle" "$@" ;;
esac
echo "npx would fetch $1" >&2; exit 127`,
};
