import { connect } from 'mcp-actors/client';
import { memory, toSdkTransport } from 'mcp-actors';
import { expect, onTestFinished, test, vi } from 'vitest';
import { load, skillsOf } from '../../examples/skills/host.ts';
import { server } from '../../examples/skills/server.ts';

test("shows the shop's skills in the host, and loads one with its origin", async () => {
  const said = vi.spyOn(console, 'log').mockImplementation(() => {});
  onTestFinished(() => said.mockRestore());
  const { transport, peer } = memory();
  server.listen(transport, { report: () => {} });
  const host = await connect(
    { transport: toSdkTransport(peer) },
    { name: 'shop', report: () => {} },
  );
  onTestFinished(() => host.close());
  const [refunds, month] = await skillsOf(host);
  expect(said.mock.calls.flat()).toEqual([
    'shop has skill://acme/billing/refunds/SKILL.md: Handles a refund as the company wants it. For when a customer wants money back.',
    'shop has skill://close-the-month/SKILL.md: Closes the books of a month. For when somebody asks for the monthly report, or whether a month is closed.',
  ]);
  if (!refunds || !month) throw new Error('There is no such skill');
  expect(await load(host, refunds)).toContain(
    'skill://acme/billing/refunds/SKILL.md, from the server shop:\n\n---\n',
  );
  expect(await load(host, refunds, 'letters/asking.md')).toContain('Dear colleague');
  expect(await load(host, month, 'templates/report.md')).toContain('# Report of MONTH');
});
