/** Common driver commands of tests, for a connection "a". */
import { smallServer } from '../../packages/cli/test/e2e/client-command.ts';
import type { DriverProcess } from './driver-process.ts';

const [command, script] = smallServer;

/** The entry of a small server with these tools. */
export const small = (...tools: readonly string[]) => ({ command, args: [script, ...tools] });

export const connect = (driver: DriverProcess, server: object, options: object = {}) =>
  driver.run({ op: 'connect', name: 'a', server, options });

export const call = (tool: string, args: object = {}) => ({
  op: 'callTool',
  name: 'a',
  tool,
  arguments: args,
});

/** The first text of a tool's result. */
export const textOf = ({ content }: Record<string, unknown>) =>
  (content as readonly { readonly text: string }[])[0]?.text ?? '';
