/** What tests launch that is written in TypeScript: the examples and fixtures, bundled once in the global setup so that each launch is plain Node's. */
import { join } from 'node:path';

const repository = join(import.meta.dirname, '../..');

/** Ignored by git. It lies in the repository so that `mcp-actors` and other packages are found from it as from a user's project. */
export const programsFolder = join(repository, 'test/.programs');

/** Their sources, from the repository's root. */
export const programs = [
  'examples/app/server.ts',
  'examples/arktype/server.ts',
  'examples/booking/server.ts',
  'examples/bridge/server.ts',
  'examples/checkout/server.ts',
  'examples/client/inspected.ts',
  'examples/client/many-servers.ts',
  'examples/coming-from/mcp-actors.ts',
  'examples/coming-from/sdk-2.ts',
  'examples/coming-from/sdk.ts',
  'examples/driver/client.ts',
  'examples/elicitation/server.ts',
  'examples/embedding/dump-on-signal.ts',
  'examples/embedding/serve-web.ts',
  'examples/embedding/watch.ts',
  'examples/everything/stdio.ts',
  'examples/http/authorized.ts',
  'examples/http/nodes.ts',
  'examples/http/serve.ts',
  'examples/inspecting/server.ts',
  'examples/inspecting/stately.ts',
  'examples/lab/http.ts',
  'examples/lab/server.ts',
  'examples/long-task/server.ts',
  'examples/notes/server.ts',
  'examples/openapi/server.ts',
  'examples/opentelemetry/server.ts',
  'examples/quickstart/main.ts',
  'examples/reminder/server.ts',
  'examples/roots/server.ts',
  'examples/sampling/server.ts',
  'examples/valibot/server.ts',
  'examples/zod/server.ts',
  'packages/client/test/auth/caller.ts',
  'packages/client/test/auth/lock-holder.ts',
  'packages/client/test/contract-process.ts',
  'packages/client/test/official-tasks.ts',
  'test/e2e/asking-server.ts',
  'test/e2e/awaiting-script.ts',
  'test/e2e/kit-script.ts',
  'test/e2e/kit-tests.ts',
  'test/e2e/recording-server.ts',
  'test/e2e/deployed-node.ts',
  'test/e2e/draining-server.ts',
  'test/e2e/durable-server.ts',
  'test/e2e/killed-calls-server.ts',
  'test/e2e/supervised-calls-server.ts',
  'test/e2e/killed-server.ts',
  'test/e2e/polled-calls-server.ts',
  'test/e2e/http-calls-server.ts',
  'test/e2e/served.ts',
  'test/e2e/spawning-server.ts',
  'test/e2e/starved-search.ts',
  'test/e2e/throwing-listeners.ts',
  'test/e2e/versioned-node.ts',
  'packages/processes/test/anywhere-host.ts',
  'packages/processes/test/first-process.ts',
  'packages/processes/test/host.ts',
  'packages/processes/test/windows-host.ts',
  'lab/storms/node.ts',
  'lab/storms/tasks/task-node.ts',
] as const;

export type Program = (typeof programs)[number];

/** Node's arguments that run this program against the built library. */
export function program(source: Program): readonly [string] {
  return [join(programsFolder, source.replace(/\.ts$/, '.js'))];
}
