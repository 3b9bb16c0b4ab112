#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './compile-cache.ts';

// Before anything is loaded that an older Node does not know.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`mcp-actors needs Node 20.19 or newer, got ${process.versions.node}`);
  process.exit(1);
}
keepCompiled();
// Only what is loaded after that comes from the cache.
const [, , command, ...args] = process.argv;
const isDurable = process.argv.some((text) => /^--durable(?:=|$)/.test(text));
// A process that only holds its host's pipe is small.
if (isDurable) await (await import('./hold-pipe.ts')).superviseServer(process.argv.slice(2));
// A bridge's server starts while the rest is loaded.
const ahead =
  command === 'bridge' ? await (await import('./ahead.ts')).serverAhead(args) : undefined;
const { main } = await import('./main.ts');
main(import.meta.url, ahead);
