/** An HTTP server in a separate process. */
import type { JsonObject } from 'mcp-actors';
import { program } from '../tooling/programs.ts';
import { launch } from './server-process.ts';
import type { LaunchOptions, ServerProcess } from './server-process.ts';

export interface HttpProcess {
  readonly server: ServerProcess;
  /** URL of its endpoint. */
  readonly url: URL;
}

/** Starts Node with these arguments, and waits until it listens. */
export async function launchHttp(
  args: readonly string[],
  options: LaunchOptions = {},
): Promise<HttpProcess> {
  const server = launch(args, options);
  const line = await server.log.find(({ event }) => event === 'http.listening');
  return { server, url: new URL(String((line['details'] as JsonObject)['url'])) };
}

/** The laboratory over HTTP, on a free port. */
export function launchLab(...flags: readonly string[]): Promise<HttpProcess> {
  return launchLabAt('0', ...flags);
}

/** The laboratory over HTTP. */
export function launchLabAt(port: string, ...flags: readonly string[]): Promise<HttpProcess> {
  return launchHttp([...program('examples/lab/http.ts'), ...flags], { env: { PORT: port } });
}
