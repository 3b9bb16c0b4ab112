/** Locates, loads and checks a module that a command serves. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { McpServer } from 'mcp-actors';
import { UsageError } from './command.ts';

/** @throws {UsageError} if it does not exist */
export function moduleAt(file: string): string {
  const path = resolve(file);
  if (existsSync(path)) return path;
  throw new UsageError(`${file} does not exist (looked for ${path})`);
}

/**
 * TypeScript loader: tsx of the project; undefined if Node itself can run the module.
 *
 * @param command command name for the error
 * @throws {UsageError} if nothing can run a TypeScript module
 */
export function loaderFor(file: string, command: string): string | undefined {
  for (const from of [file, join(process.cwd(), 'any.js'), import.meta.url]) {
    try {
      return pathToFileURL(createRequire(from).resolve('tsx')).href;
    } catch {
      // Try the next location.
    }
  }
  const { features } = process as { readonly features: { readonly typescript?: unknown } };
  if (!/\.[cm]?tsx?$/.test(file) || features.typescript) return undefined;
  throw new UsageError(
    `${command} ${file}: this Node (${process.version}) cannot run TypeScript. Install tsx in your project: npm install --save-dev tsx`,
  );
}

const expected =
  'export the server, as `export default createMcpServer({…})`, or call `serve(server)` of mcp-actors/serve';

/** @throws {Error} if there is no server or more than one */
export function serverIn(given: unknown): McpServer {
  if (typeof given === 'function') {
    throw new Error(
      `serve() must get a server here, got a function that creates one per request: ${expected}`,
    );
  }
  if (isServer(given)) return given;
  const exported = membersOf(given);
  // `default` also holds the exports of a CommonJS module.
  const all = [...Object.values(exported), ...Object.values(membersOf(exported['default']))];
  const chosen = [exported['default'], exported['server']].find(isServer);
  const servers = [...new Set(all.filter(isServer))];
  const server = chosen ?? servers[0];
  if (server && (chosen || servers.length === 1)) return server;
  if (servers.length > 1) {
    throw new Error(`The module exports ${servers.length} servers: make one of them the default`);
  }
  throw new Error(`The module has no server: ${expected}`);
}

function isServer(given: unknown): given is McpServer {
  const { listen, definition } = membersOf(given);
  return typeof listen === 'function' && typeof definition === 'object';
}

export function membersOf(given: unknown): { readonly [member: string]: unknown } {
  return typeof given === 'object' && given !== null
    ? (given as { [member: string]: unknown })
    : {};
}
