/** Prints why a session of your own process is stuck: kill -USR2 PID */
import { describeDump, stdio } from 'mcp-actors';
import { server } from '../quickstart/server.ts';

const session = server.listen(stdio());
process.on('SIGUSR2', () => console.error(describeDump(session.dump())));
