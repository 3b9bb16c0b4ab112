/** Starts what the manifest names, for a host that runs the bundle's entry point and not its command. Directories are arguments. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

const { server } = JSON.parse(readFileSync(new URL('../manifest.json', import.meta.url), 'utf8'));
const { platform_overrides: overrides, ...common } = server.mcp_config;
const { command, args } = { ...common, ...overrides[process.platform] };
const fixed = args.filter((arg) => !arg.startsWith('${'));

const child = spawn(command, [...fixed, ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => child.kill(signal));
child.on('error', ({ message }) => {
  console.error(
    `${command} cannot be started (${message}). It comes with Node: https://nodejs.org`,
  );
  process.exitCode = 1;
});
child.on('exit', (code) => {
  process.exitCode = code ?? 1;
});
