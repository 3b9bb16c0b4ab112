/** An authorized client without HTTP. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { ErrorAnswer, testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';

const admins = {
  name: 'purge',
  description: 'Removes all',
  handler: () => 'removed',
  visible: ({ principal }: { principal?: { scopes: readonly string[] } | undefined }) =>
    principal?.scopes.includes('admin') === true,
};
const server = createMcpServer({
  name: 'notes',
  version: '1',
  tools: [
    defineTool({
      name: 'whoami',
      description: 'Says who calls',
      handler: (_, { principal }) => JSON.stringify(principal ?? 'nobody'),
    }),
    defineTool(admins),
  ],
});

test.each([undefined, '2026-07-28'])(
  'gives a test client a principal in handlers and visibility (%s)',
  async (revision) => {
    const era = revision === undefined ? {} : { revision };
    const principal = { subject: 'ada', scopes: ['admin'], claims: { tenant: 'acme' } };
    const admin = await testClient(server, { ...era, principal });
    const { text } = await admin.callTool('whoami');
    expect(JSON.parse(text)).toMatchObject(principal);
    expect((await admin.listTools()).map(({ name }) => name)).toEqual(['whoami', 'purge']);
    expect((await admin.callTool('purge')).text).toBe('removed');

    const guest = await testClient(server, { ...era, principal: { subject: 'bob' } });
    expect(JSON.parse((await guest.callTool('whoami')).text)).toMatchObject({
      subject: 'bob',
      scopes: [],
    });
    expect((await guest.listTools()).map(({ name }) => name)).toEqual(['whoami']);
    await expect(guest.callTool('purge')).rejects.toBeInstanceOf(ErrorAnswer);

    const nobody = await testClient(server, era);
    expect((await nobody.callTool('whoami')).text).toBe('"nobody"');
    await Promise.all([admin, guest, nobody].map((client) => client.close()));
  },
);
