/**
 * Many servers for one model: lists their tools for a model API and executes its tool calls.
 *
 * npx tsx examples/client/many-servers.ts mcp.json
 */
import { ProtocolError, RuntimeError, connectAll } from 'mcp-actors/client';
import type { MergedTool, Servers } from 'mcp-actors/client';

// #region tools for a model
/** The form most model APIs accept, sorted by name to keep prompt caches valid. */
export const forModel = (tools: readonly MergedTool[]) =>
  tools.map(({ name, description = '', inputSchema }) => ({
    name,
    description,
    input_schema: inputSchema,
  }));

/**
 * Result of a model's tool call as text. Errors are included, so that the model can correct itself.
 */
export async function carryOut(
  servers: Servers,
  call: { readonly name: string; readonly input: { readonly [key: string]: unknown } },
  signal?: AbortSignal,
): Promise<{ readonly text: string; readonly isError: boolean }> {
  try {
    const { content, isError = false } = await servers.callTool(call.name, call.input, { signal });
    const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []));
    return { text: texts.join('\n'), isError };
  } catch (error) {
    if (error instanceof ProtocolError || error instanceof RuntimeError) {
      return { text: error.message, isError: true };
    }
    throw error;
  }
}
// #endregion

// #region connect to all
const [, , file = 'mcp.json'] = process.argv;
await using servers = await connectAll(file);

for (const [name, { state, error }] of servers.status) {
  console.log(`${name}: ${state}${error ? `, ${error.message}` : ''}`);
}
servers.tools$.subscribe((tools) => {
  const names = forModel(tools).map(({ name }) => name);
  console.log(`The model has ${tools.length} tools: ${names.join(', ')}`);
});
// #endregion

await servers.listTools();
const [first] = servers.tools;
if (first) console.log(await carryOut(servers, { name: first.name, input: { text: 'hi' } }));
