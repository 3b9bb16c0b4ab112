/** Several endpoints that share their sessions, in this process, and one client of them all. */
import { createMcpServer } from '../../../../src/index.ts';
import type { McpServer, ServerDefinition } from '../../../../src/index.ts';
import type { HttpOptions, Stores } from '../../src/index.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import type { MemoryStoresOptions } from '../../../nodes/test/memory-stores.ts';
import { RawSession } from '../raw-client.ts';
import { serveEndpoint } from '../serving.ts';

export interface TestNode {
  readonly url: URL;
  readonly server: McpServer;
  /** What all of them share. */
  readonly shared: MemoryNodes;
  /** What it has of that. */
  readonly stores: Stores;
  /** It is dead for the others. */
  kill(): void;
  /** Ends as a process does that is told to end. */
  close(): Promise<void>;
}

/** All nodes have it. */
export const stateKey = Buffer.alloc(32, 1).toString('base64');

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
      stateKeys: [stateKey],
      ...definition(),
    });
    const { url, close, kill } = await serveEndpoint(server, { ...options, stores: node });
    const die = () => {
      nodes.kill(node);
      kill();
    };
    started.push({ url, server, shared: nodes, stores: node, kill: die, close });
  }
  return started;
}

/** The same session at another node. */
export function at(node: TestNode, session: RawSession): RawSession {
  return new RawSession(node.url, session.headers);
}
