import { expect, test } from 'vitest';
import { toolsForAiSdk } from 'mcp-actors/client';
import type { CallToolResult, Servers } from 'mcp-actors/client';
import type { AiSdkTool } from '../../src/hosts/ai-sdk-tools.ts';

const called: unknown[] = [];

/** Servers with one tool, which fails if it is told to. */
const servers = {
  listTools: () =>
    Promise.resolve([
      { name: 'files__read', description: 'Reads.', inputSchema: { type: 'object' } },
    ]),
  callTool: (
    name: string,
    args: { readonly fail?: boolean },
    { signal }: { signal?: AbortSignal },
  ) => {
    called.push([name, args, signal?.aborted]);
    const content = [
      { type: 'text', text: 'one' },
      { type: 'image', data: '', mimeType: 'image/png' },
    ];
    return Promise.resolve({ content, ...(args.fail ? { isError: true } : {}) });
  },
} as unknown as Servers;

const functions = {
  dynamicTool: (tool: AiSdkTool<{ readonly schema: object }>) => tool,
  jsonSchema: (schema: object) => ({ schema }),
};

test('converts each tool for the AI SDK and forwards its signal', async () => {
  const { files__read: tool } = await toolsForAiSdk(servers, functions);
  expect(tool).toMatchObject({
    description: 'Reads.',
    inputSchema: { schema: { type: 'object' } },
  });
  const controller = new AbortController();
  await tool?.execute({ path: 'a' }, { abortSignal: controller.signal });
  await tool?.execute({ path: 'b' }, {});
  expect(called).toEqual([
    ['files__read', { path: 'a' }, false],
    ['files__read', { path: 'b' }, undefined],
  ]);
});

test('returns the text to the model, marked as an error if the tool failed', async () => {
  const { files__read: tool } = await toolsForAiSdk(servers, functions);
  const read = async (input: object) =>
    tool?.toModelOutput({ output: (await tool.execute(input, {})) as CallToolResult });
  const value = 'one\n{"type":"image","data":"","mimeType":"image/png"}';
  expect(await read({})).toEqual({ type: 'text', value });
  expect(await read({ fail: true })).toEqual({ type: 'error-text', value });
});
