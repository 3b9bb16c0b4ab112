/**
 * The public conformance suite against `examples/everything`, over HTTP on loopback: `npm run conformance`. Exits with the suite's result.
 *
 * The suite needs a newer Node than the project does, so it is fetched for the occasion and is no dependency.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { readReport } from './conformance-report.ts';

const suite = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const node = 'node@24';
const revision = '2025-11-25';
/** How long the server may take to start, milliseconds. */
const startTimeoutMs = 30_000;

const repository = fileURLToPath(new URL('..', import.meta.url));

function startServer(): ChildProcess {
  return spawn(
    process.execPath,
    ['--import', 'tsx', 'examples/everything/http.ts', '--port', '0'],
    {
      cwd: repository,
      stdio: ['ignore', 'inherit', 'pipe'],
    },
  );
}

/** The URL that the server prints when it listens; what it prints besides goes on to stderr. */
function urlOf({ stderr }: ChildProcess, exited: Promise<unknown>): Promise<string> {
  if (!stderr) throw new Error('The server has no stderr');
  return new Promise((resolve, reject) => {
    createInterface({ input: stderr }).on('line', (line) => {
      if (line.startsWith('http://')) resolve(line);
      else console.error(line);
    });
    const late = setTimeout(
      () => reject(new Error(`The server has not started within ${startTimeoutMs} ms`)),
      startTimeoutMs,
    );
    late.unref();
    void exited.then(() => reject(new Error('The server has ended instead of starting')));
  });
}

/** Runs the suite; gives its exit code and what it printed. */
async function runSuite(url: string): Promise<{ code: number; output: string }> {
  const command = `conformance server --url ${url} --requirements ${revision}`;
  const child = spawn('npx', ['--yes', '-p', node, '-p', suite, '-c', command], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    process.stdout.write(text);
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, output };
}

const server = startServer();
const exited = once(server, 'exit');
try {
  const { code, output } = await runSuite(await urlOf(server, exited));
  const { line, complete } = readReport(output, revision);
  console.log(`\n${line}`);
  process.exitCode = code === 0 && !complete ? 1 : code;
} finally {
  server.kill('SIGTERM');
  await exited;
}
