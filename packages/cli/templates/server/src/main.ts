#!/usr/bin/env node
/** Serves one client over stdin and stdout. Log with console.error: stdout carries the protocol. */
import { serve } from 'mcp-actors/serve';
import { server } from './server.ts';

await serve(server);
