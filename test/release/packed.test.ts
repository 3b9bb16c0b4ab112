/** The packed command, where a release puts it: in the image, whose steps are run without Docker, and behind the bundle. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unzipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TestContext } from 'vitest';
import { outOfReach } from '../../scripts/npm.ts';
import { writeBundle } from '../../scripts/release/bundle.ts';
import { greetBoth, greeter } from '../../scripts/release/try.ts';
import { repository } from './copied.ts';
import { listOf, runStage, stagesOf } from './dockerfile.ts';

const runFile = promisify(execFile);

describe('release artifacts', { timeout: 600_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'packed-'));
  const stages = stagesOf(join(repository, 'Dockerfile'));
  /** The folder that stands for the image's root. */
  let image: string;
  /** Why nothing could be installed, if that is not the package's fault. */
  let unreachable: string | undefined;

  beforeAll(async () => {
    const how = {
      context: repository,
      roots: folder,
      // It is built, and other tests run from it.
      env: { ...process.env, npm_config_ignore_scripts: 'true', npm_config_prefer_offline: 'true' },
      done: ['npm ci'],
    };
    try {
      for (const stage of await stages) image = await runStage(stage, how);
    } catch (error) {
      if (!outOfReach.test(String(error))) throw error;
      unreachable = String(error);
    }
  }, 600_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const needsInstall = (context: TestContext) =>
    context.skip(unreachable !== undefined, 'The registry is out of reach');

  /** A command of the image's, with this machine's Node and its folders. */
  const ofImage = (command: readonly string[]): readonly string[] =>
    command.map((part) => {
      if (part === 'node') return process.execPath;
      return part.startsWith('/app/') ? join(image, part) : part;
    });

  const lastStage = async () => (await stages).at(-1) as Awaited<typeof stages>[number];

  it('the image contains the command and its dependencies but no build tools', (context) => {
    needsInstall(context);
    expect(readdirSync(image).sort()).toEqual(['app', 'project']);
    expect(readdirSync(join(image, 'app')).filter((name) => name.endsWith('.tgz'))).toEqual([]);
    const packages = readdirSync(join(image, 'app/node_modules/@mcp-actors'));
    expect(packages).toEqual(['cli']);
    expect(readdirSync(join(image, 'app/node_modules'))).not.toContain('typescript');
  });

  it('the image is slim, does not run as root and handles SIGTERM', async () => {
    const { base, steps } = await lastStage();
    expect(base).toBe('node:24-slim');
    const said = Object.fromEntries(steps.map(({ instruction, text }) => [instruction, text]));
    expect(said).toMatchObject({ USER: 'node', STOPSIGNAL: 'SIGTERM', WORKDIR: '/project' });
  });

  it("the image's command serves both eras", async (context) => {
    needsInstall(context);
    const command = ofImage(listOf(await lastStage(), 'ENTRYPOINT'));
    await greetBoth(greeter, command, join(image, 'project'), 'cwd');
  });

  it("the image's main process answers the health check and exits with 0 on SIGTERM", async (context) => {
    needsInstall(context);
    const isolated = ['--pid', '--fork', '--mount-proc', '--kill-child=KILL'];
    const isAllowed = await runFile('unshare', [...isolated, 'true']).then(
      () => true,
      () => false,
    );
    context.skip(!isAllowed, 'This user may make no PID namespace');

    const stage = await lastStage();
    const server = spawn('unshare', [...isolated, ...ofImage(listOf(stage, 'ENTRYPOINT'))], {
      cwd: join(image, 'project'),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void server.kill('SIGKILL'));
    const ended = new Promise((resolve) => server.once('exit', (code) => resolve(code)));
    const answered = new Promise((resolve) => server.stdout.once('data', resolve));
    server.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    await answered;

    const children = `/proc/${server.pid}/task/${server.pid}/children`;
    const first = readFileSync(children, 'utf8').trim();
    const inside = ['--target', first, '--pid', '--mount'];
    // A busy machine may need longer than it usually has; and Docker asks more than once, too.
    const check = [...ofImage(listOf(stage, 'HEALTHCHECK')), '--timeout', '60s'];
    const asked = () => runFile('nsenter', [...inside, ...check]);
    const { stdout } = await vi.waitFor(asked, { timeout: 100_000, interval: 100 });
    expect(stdout).toContain('process 1\n');

    process.kill(Number(first), 'SIGTERM');
    expect(await ended).toBe(0);
  });

  describe('the desktop extension bundle', () => {
    const bundle = join(folder, 'mcp-actors.mcpb');
    const opened = join(folder, 'bundle');

    beforeAll(async () => {
      writeBundle(bundle);
      for (const [name, bytes] of Object.entries(unzipSync(readFileSync(bundle)))) {
        const path = join(opened, name);
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, bytes);
      }
    });

    it('is smaller than 50 KB, reproducible and contains only the start script as code', () => {
      expect(statSync(bundle).size).toBeLessThan(50_000);
      const bytes = readFileSync(bundle);
      vi.useFakeTimers({ now: Date.now() + 86_400_000, toFake: ['Date'] });
      writeBundle(bundle);
      vi.useRealTimers();
      expect(readFileSync(bundle).equals(bytes)).toBe(true);
      const names = Object.keys(unzipSync(bytes)).sort();
      expect(names).toEqual(['LICENSE', 'manifest.json', 'server/start.mjs']);
    });

    it('starts the command of this version through its command and its entry point', async (context) => {
      needsInstall(context);
      const { server } = JSON.parse(readFileSync(join(opened, 'manifest.json'), 'utf8')) as {
        readonly server: {
          readonly entry_point: string;
          readonly mcp_config: { readonly command: string; readonly args: readonly string[] };
        };
      };
      const { command, args } = server.mcp_config;
      // npx finds what is installed there, and asks no registry.
      const installed = join(image, 'app');
      const filled = args.map((arg) => (arg === '${user_config.directories}' ? repository : arg));
      await greetBoth(greeter, [command, ...filled], installed, 'argument');
      await greetBoth(
        greeter,
        ['node', join(opened, server.entry_point), repository],
        installed,
        'argument',
      );
    });
  });

  it("does not mistake another server's command for its own", async () => {
    const lab = ['--import', 'tsx', join(repository, 'examples/lab/server.ts')];
    const greeted = greetBoth(greeter, ['node', ...lab], repository, 'cwd');
    await expect(greeted).rejects.toThrow(/has answered|has ended/);
  });
});
