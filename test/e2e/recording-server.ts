/** The laboratory's tools in a server that records into the file named by its first argument. */
import { createMcpServer, stdio } from 'mcp-actors';
import { recordToFile } from 'mcp-actors/recording';
import { ask } from '../../examples/lab/ask.ts';
import { echo, listRoots } from '../../examples/lab/tools.ts';
import { slow } from '../../examples/lab/work.ts';

const session = createMcpServer({
  name: 'recorded-lab',
  version: '1.0.0',
  tools: [listRoots, slow, echo, ask],
}).listen(stdio(), { environment: recordToFile(String(process.argv[2])) });

const { kind } = await session.closed;
process.exit(kind === 'failure' ? 1 : 0);
