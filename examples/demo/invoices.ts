/** The server killed by the demo: it pays invoices and writes a ledger row for each. */
import { appendFileSync } from 'node:fs';
import { createMcpServer, defineTool } from 'mcp-actors';

const { LEDGER = 'ledger.txt' } = process.env;

const pay = defineTool({
  name: 'pay_invoices',
  description: 'Pays ten invoices. A person approves the last five.',
  durable: true,
  handler: async (_, { once, progress, elicit, sleep }) => {
    for (let invoice = 1; invoice <= 10; invoice++) {
      if (invoice === 6) {
        const schema = { type: 'object', properties: {} } as const;
        const { action } = await elicit({ message: 'Pay invoices 6 to 10?', schema });
        if (action !== 'accept') return 'Invoices 1 to 5 are paid';
      }
      await once(`invoice ${invoice}`, () => {
        appendFileSync(LEDGER, `invoice ${invoice}, paid by process ${process.pid}\n`);
      });
      progress(invoice, { total: 10 });
      await sleep(300);
    }
    return 'All ten invoices are paid';
  },
});

export default createMcpServer({ name: 'accounts', version: '1.0.0', tools: [pay] });
