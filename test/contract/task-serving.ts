/** Tools that run as tasks, and clients that call them. */
import type { HandlerContext, JsonObject, Task, Tool } from 'mcp-actors';
import type { TaskSupport } from '../../src/protocol/tasks.ts';
import { gate } from 'mcp-actors/testing';
import type { ScriptedPeer } from 'mcp-actors/testing';
import { tool } from './serving.ts';

export const relatedKey = 'io.modelcontextprotocol/related-task';

/** The `_meta` that names the related task. */
export const related = (taskId: string) => ({ [relatedKey]: { taskId } });

/** A tool with optional task support that accepts any arguments. */
export function taskTool(
  name: string,
  handler: (args: JsonObject, context: HandlerContext) => unknown,
  taskSupport: TaskSupport = 'optional',
): Tool {
  return { ...tool(name, handler), taskSupport };
}

/**
 * A tool whose tasks wait until a gate opens or they are cancelled, and return their arguments as
 * text.
 */
export function held() {
  const door = gate();
  const reasons: unknown[] = [];
  const hold = taskTool('hold', async (args, { signal }) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    await door.pass(signal);
    return JSON.stringify(args);
  });
  return { door, hold, reasons };
}

/** Calls a tool as a task and returns the created task. */
export async function begin(
  peer: ScriptedPeer,
  name: string,
  params: { readonly arguments?: JsonObject; readonly ttl?: number; readonly _meta?: object } = {},
): Promise<Task> {
  const { ttl, ...rest } = params;
  const task = ttl === undefined ? {} : { ttl };
  const result = await peer.ask('tools/call', { name, ...rest, task });
  return result['task'] as Task;
}

/** The task as the client currently sees it. */
export async function look(peer: ScriptedPeer, { taskId }: Task): Promise<Task> {
  return (await peer.ask('tasks/get', { taskId })) as unknown as Task;
}

/** The next task notification. */
export async function change(peer: ScriptedPeer): Promise<Task> {
  const { params } = await peer.notification('notifications/tasks/status');
  return params as unknown as Task;
}
