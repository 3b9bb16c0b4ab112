/** Several in-process endpoints that share sessions. */
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
  /** The shared stores of all nodes. */
  readonly shared: MemoryNodes;
  /** This node's stores. */
  readonly stores: Stores;
  /** Kills the node. */
  kill(): void;
  /** Closes the node gracefully. */
  close(): Promise<void>;
}

/** Key shared by all nodes. */
export const stateKey = Buffer.alloc(32, 1).toString('base64');

/** Starts nodes with a server each, until the test ends. */
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

/** The same session through another node. */
export function at(node: TestNode, session: RawSession): RawSession {
  return new RawSession(node.url, session.headers);
}
