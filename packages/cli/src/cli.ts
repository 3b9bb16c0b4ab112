#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './compile-cache.ts';

// Before anything is loaded that an older Node does not know.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`mcp-actors needs Node 20.19 or newer, got ${process.versions.node}\n`);
  process.exit(1);
}
keepCompiled();
// The cache applies only to modules loaded from here on.
const [, , command, ...args] = process.argv;
const isDurable = process.argv.some((text) => /^--durable(?:=|$)/.test(text));
// A supervisor must stay small, so it loads nothing else.
if (isDurable) await (await import('./hold-pipe.ts')).superviseServer(process.argv.slice(2));
// Start the bridge's server while the rest is loading.
const ahead =
  command === 'bridge' ? await (await import('./ahead.ts')).serverAhead(args) : undefined;
const { main } = await import('./main.ts');
main(import.meta.url, ahead);
