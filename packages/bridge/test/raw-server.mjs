/**
 * A server of the legacy era that writes the lines it is told to, as they are.
 *
 * `say` writes `lines`, with `$ID` for the call's id and `$TOKEN` for its progress token, both as JSON. It
 * answers by itself unless one of the lines has `$ID`, or `silent` is true. `seen` returns the lines that
 * have arrived. Arguments of the process: the text of the `initialize` result (of `server/discover` if it has `supportedVersions`), and further names of tools, as JSON.
 */
import { createInterface } from 'node:readline';

const defaultInitialize = JSON.stringify({
  protocolVersion: '2025-11-25',
  capabilities: { tools: { listChanged: true }, resources: { subscribe: true }, prompts: {} },
  serverInfo: { name: 'raw', version: '1' },
});
const [given = '', ...names] = process.argv.slice(2);
const initialize = given === '' ? defaultInitialize : given;
const seen = [];

const write = (line) => process.stdout.write(`${line}\n`);
const answer = (id, result) => write(JSON.stringify({ jsonrpc: '2.0', id, result }));
const named = (name) => ({ name, inputSchema: { type: 'object' } });
const tools = [named('say'), named('seen'), ...names.map((name) => named(JSON.parse(name)))];
const text = (said) => ({ content: [{ type: 'text', text: said }] });

function say(id, { arguments: { lines = [], silent = false } = {}, _meta: meta = {} }) {
  for (const line of lines) {
    const token = JSON.stringify(meta.progressToken);
    write(line.replaceAll('$ID', JSON.stringify(id)).replaceAll('$TOKEN', token));
  }
  if (!silent && !lines.some((line) => line.includes('$ID'))) answer(id, text('said'));
}

createInterface({ input: process.stdin }).on('line', (line) => {
  seen.push(line);
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) return;
  const isModern = initialize.includes('supportedVersions');
  if (method === 'initialize' && isModern) {
    const data = { supported: ['2026-07-28'], requested: params.protocolVersion };
    const error = { code: -32022, message: 'Unsupported protocol version', data };
    write(JSON.stringify({ jsonrpc: '2.0', id, error }));
  } else if (method === 'initialize' || (method === 'server/discover' && isModern))
    write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${initialize}}`);
  else if (method === 'tools/list') answer(id, { tools });
  else if (method !== 'tools/call') answer(id, {});
  else if (params.name === 'say') say(id, params);
  else if (params.name === 'seen') answer(id, text(JSON.stringify(seen)));
  else answer(id, text(`called ${params.name}`));
});
