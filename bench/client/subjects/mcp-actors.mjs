import { connect } from '../../../dist/client/index.js';

/** Opens a connection. The era is given, so that all clients send the same. */
export async function open(server, { era, maxPending }) {
  const connection = await connect(server, {
    era,
    limits: { maxPending, maxLineBytes: 2 ** 30 },
  });
  return {
    call: (name, text) => connection.callTool(name, { text }, { timeoutMs: 600_000 }),
    close: () => connection.close(),
  };
}
