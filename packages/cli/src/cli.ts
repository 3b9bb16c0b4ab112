#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './compile-cache.ts';

keepCompiled();
// Only what is loaded after that comes from the cache.
const [, , command, ...args] = process.argv;
// A bridge's server starts while the rest is loaded.
const ahead =
  command === 'bridge' ? await (await import('./ahead.ts')).serverAhead(args) : undefined;
const { main } = await import('./main.ts');
main(import.meta.url, ahead);
