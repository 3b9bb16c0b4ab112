/**
 * The everything server over stdio.
 *
 *     npx tsx examples/everything/stdio.ts
 */
import { stdio } from 'mcp-actors';
import { everything } from './server.ts';

const session = everything.listen(stdio());

process.once('SIGINT', () => session.shutdown('SIGINT'));
process.once('SIGTERM', () => session.shutdown('SIGTERM'));

const { kind } = await session.closed;
process.exit(kind === 'failure' ? 1 : 0);
