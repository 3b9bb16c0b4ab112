import { createMcpServer, defineTool, stdio } from 'mcp-actors';
import { openTelemetry } from 'mcp-actors/opentelemetry';

const server = createMcpServer({
  name: 'traced',
  version: '1.0.0',
  tools: [
    defineTool({ name: 'now', description: 'The time', handler: () => new Date().toISOString() }),
  ],
});

// First, so that it sees what the other middleware does. The application registers its SDK as ever.
server.use(openTelemetry({ attributes: { 'network.transport': 'pipe' } }));

await server.listen(stdio()).closed;
