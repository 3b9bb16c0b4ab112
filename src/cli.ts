#!/usr/bin/env node
/** The `mcp-actors` command. */
import { main } from './cli/main.ts';

main(import.meta.url);
