/** Several endpoints that share their sessions, in this process, and one client of them all. */
import { createMcpServer } from '../../../src/index.ts';
import type { McpServer, ServerDefinition } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/http/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';
import type { MemoryStoresOptions } from '../nodes/memory-stores.ts';
import { RawSession } from '../raw-client.ts';
import { serveEndpoint } from '../serving.ts';

export interface TestNode {
  readonly url: URL;
  readonly server: McpServer;
  /** What all of them share. */
  readonly shared: MemoryNodes;
  /** It is dead for the others. */
  kill(): void;
  /** Ends as a process does that is told to end. */
  close(): Promise<void>;
}

/** All nodes have it. */
const key = Buffer.alloc(32, 1).toString('base64');

/** Starts nodes, each with a server of its own, until the test is over. */
export async function startNodes(
  count: number,
  definition: () => Partial<ServerDefinition>,
  stores: MemoryStoresOptions = {},
  options: HttpOptions = {},
): Promise<readonly TestNode[]> {
  const nodes = new MemoryNodes(stores);
  const started: TestNode[] = [];
  for (let n = 0; n < count; n++) {
    const node = nodes.start();
    const server = createMcpServer({
      name: `node ${n}`,
      version: '1',
      stateKeys: [key],
      ...definition(),
    });
    const { url, close } = await serveEndpoint(server, { ...options, stores: node });
    started.push({ url, server, shared: nodes, kill: () => nodes.kill(node), close });
  }
  return started;
}

/** The same session at another node. */
export function at(node: TestNode, session: RawSession): RawSession {
  return new RawSession(node.url, session.headers);
}
