import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';
import { openTelemetry, sessionDurations } from 'mcp-actors/opentelemetry';

const server = createMcpServer({
  name: 'traced',
  version: '1.0.0',
  tools: [
    defineTool({ name: 'now', description: 'The time', handler: () => new Date().toISOString() }),
  ],
});

const attributes = { 'network.transport': 'pipe' };

// Register it first, so that it covers other middleware. Register the OpenTelemetry SDK as usual.
server.use(openTelemetry({ attributes }));

await serve(server, { watchers: [sessionDurations({ attributes })] });
