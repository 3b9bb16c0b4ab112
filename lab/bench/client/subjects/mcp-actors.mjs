import { Ajv } from 'ajv';
import { connect } from '../../../../dist/client/index.js';

/**
 * Our client leaves validating structured results to its host. This host validates them like the
 * official clients do.
 */
async function checksOf(connection) {
  const ajv = new Ajv({ strict: false });
  const checks = new Map();
  for (const { name, outputSchema } of await connection.listTools()) {
    if (outputSchema) checks.set(name, ajv.compile(outputSchema));
  }
  return checks;
}

/** Opens a connection. The era is fixed, so that all clients send the same. */
export const open = (server, options) => openWith(server, options, {});

/** @param ways how HTTP requests are sent */
export async function openWith(server, { era, maxPending }, ways) {
  const connection = await connect(server, {
    ...ways,
    era,
    limits: { maxPending, maxLineBytes: 2 ** 30 },
  });
  let checks;
  return {
    list: () => connection.listTools(),
    checked: async (name, text) => {
      checks ??= await checksOf(connection);
      const result = await connection.callTool(name, { text });
      if (!checks.get(name)(result.structuredContent)) throw new Error('It is not as its schema');
      return result;
    },
    task: async (name, text) => {
      const params = { name, arguments: { text }, task: { ttl: 60_000 } };
      const { task } = await connection.request('tools/call', params);
      return connection.request('tasks/result', { taskId: task.taskId });
    },
    call: (name, text) => connection.callTool(name, { text }, { timeoutMs: 600_000 }),
    close: () => connection.close(),
  };
}
