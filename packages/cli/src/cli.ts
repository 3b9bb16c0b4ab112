#!/usr/bin/env node
/** The `mcp-actors` command. */
import { keepCompiled } from './compile-cache.ts';

keepCompiled();
// Only what is loaded after that comes from the cache.
const { main } = await import('./main.ts');
main(import.meta.url);
