/** A session in a process of one's own: why does it not go on? kill -USR2 PID */
import { describeDump, stdio } from 'mcp-actors';
import { server } from '../quickstart/server.ts';

const session = server.listen(stdio());
process.on('SIGUSR2', () => console.error(describeDump(session.dump())));
