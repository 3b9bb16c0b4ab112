/** A host of the legacy era before a bridge in this process, which writes lines and keeps what comes as text. */
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { stdio } from 'mcp-actors';
import type { Fact, JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { LineStream, eachLine } from '../../../test/e2e/line-stream.ts';

/** @param tools further names of tools, as JSON */
export const rawServer = (initialize = '', ...tools: readonly string[]) => ({
  command: process.execPath,
  args: ['packages/bridge/test/raw-server.mjs', initialize, ...tools],
});

export interface RawHost {
  /** The answer to `initialize`. */
  readonly initialized: JsonObject;
  /** What the bridge has written. */
  readonly lines: LineStream<string>;
  /** What the bridge has reported. */
  readonly facts: readonly Fact[];
  write(line: string): void;
  /** Sends a request. @returns the line that answers it */
  request(method: string, params?: string): Promise<string>;
  /** Calls a tool. @returns its answer, parsed */
  call(name: string, args?: JsonObject, meta?: JsonObject): Promise<JsonObject>;
  /** The lines that the server of this name has read, in one text. */
  seen(tool?: string): Promise<string>;
}

export async function rawHost(
  source: Parameters<typeof bridge>[0],
  options: BridgeOptions = {},
  capabilities: JsonObject = { sampling: {} },
): Promise<RawHost> {
  const facts: Fact[] = [];
  const report = (fact: Fact) => void facts.push(fact);
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = bridge(source, { patienceMs: 60_000, ...options, report });
  const session = server.listen(stdio({ input, output }), { report });
  onTestFinished(async () => {
    input.end();
    await session.closed;
  });
  const lines = new LineStream<string>('line');
  eachLine(output, (line) => lines.push(line));
  const write = (line: string) => void input.write(`${line}\n`);
  let asked = 0;
  const request: RawHost['request'] = (method, params = '{}') => {
    const id = `h-${++asked}`;
    write(`{"jsonrpc":"2.0","id":"${id}","method":"${method}","params":${params}}`);
    return lines.find((line) => line.includes(`"id":"${id}"`) && !line.includes('"method"'));
  };
  const call: RawHost['call'] = async (name, args = {}, meta = {}) =>
    JSON.parse(
      await request('tools/call', JSON.stringify({ name, arguments: args, _meta: meta })),
    ) as JsonObject;
  const clientInfo = { name: 'raw host', version: '1' };
  const greeting = { protocolVersion: '2025-11-25', capabilities, clientInfo };
  const answer = await request('initialize', JSON.stringify(greeting));
  write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  return {
    initialized: (JSON.parse(answer) as { result: JsonObject }).result,
    lines,
    facts,
    write,
    request,
    call,
    seen: async (tool = 'seen') => {
      const { result } = (await call(tool)) as { result: { content: [{ text: string }] } };
      return (JSON.parse(result.content[0].text) as string[]).join('\n');
    },
  };
}
