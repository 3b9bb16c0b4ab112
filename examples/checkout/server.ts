/**
 * A shop that places each order exactly once, even across crashes: the order, the stock and the
 * record of the step are one transaction in the shop's own Postgres.
 *
 * psql $DATABASE_URL -f examples/checkout/tables.sql
 * DATABASE_URL=postgres://… npx tsx examples/checkout/server.ts
 */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serve } from 'mcp-actors/serve';

const { DATABASE_URL: url, PACKING_MS: packingMs = '1000' } = process.env;
if (url === undefined) throw new Error('Set DATABASE_URL: postgres://user@host/database');

// #region tool
const order = defineTool({
  name: 'order',
  description: 'Orders pieces of an item, and waits until they are packed',
  taskSupport: 'required',
  durable: true,
  inputSchema: {
    type: 'object',
    properties: { item: { type: 'string' }, pieces: { type: 'integer', minimum: 1 } },
    required: ['item', 'pieces'],
  },
  handler: async ({ item, pieces }, context) => {
    const id = await context.once('order', async ({ sql }) => {
      if (!sql) throw new Error('An order needs tasks that are kept in Postgres');
      await sql.query('UPDATE stock SET pieces = pieces - $2 WHERE item = $1', [item, pieces]);
      const insert = 'INSERT INTO orders (item, pieces) VALUES ($1, $2) RETURNING id';
      const { rows } = await sql.query(insert, [item, pieces]);
      return (rows as { readonly id: number }[])[0]?.id ?? 0;
    });
    await context.sleep(Number(packingMs));
    return `Order ${id} is packed: ${pieces} ${item}`;
  },
});
// #endregion

const server = createMcpServer({ name: 'checkout', version: '1.0.0', tools: [order] });

await serve(server, { durable: url });
