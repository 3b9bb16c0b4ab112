#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './compile-cache.ts';

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
