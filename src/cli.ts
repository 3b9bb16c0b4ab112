#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './cli/compile-cache.ts';

keepCompiled();
// Only what is loaded after that comes from the cache.
const { main } = await import('./cli/main.ts');
main(import.meta.url);
