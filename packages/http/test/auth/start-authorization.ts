/** An authorization server and an authorizer that trusts it, on a controlled clock. */
import { onTestFinished } from 'vitest';
import { createAuthorizer } from '../../src/auth/authorizer.ts';
import type { Authorization, Authorizer } from '../../src/auth/authorizer.ts';
import type { AuthorizationOptions } from '../../src/auth/options.ts';
import { AuthorizationServer } from '../authorization-server.ts';

export const resource = 'https://mcp.example.com/mcp';

type ServerOptions = Parameters<typeof AuthorizationServer.start>[0];

/** Starts a server that stops with the test. */
async function startServer(options?: ServerOptions): Promise<AuthorizationServer> {
  const server = await AuthorizationServer.start(options);
  onTestFinished(() => server.close());
  return server;
}

/** A clock that advances only on request. */
export function controlledTime() {
  const start = Date.now();
  let passed = 0;
  return {
    wall: () => start + passed,
    // Starts far from 0, because only differences matter.
    monotonic: () => 1e9 + passed,
    pass: (ms: number) => {
      passed += ms;
    },
  };
}

export async function start(
  optionsOf: (server: AuthorizationServer) => Partial<AuthorizationOptions> = () => ({}),
  serverOptions?: ServerOptions,
) {
  const server = await startServer(serverOptions);
  const time = controlledTime();
  const options = { issuer: server.issuer, audience: resource, ...optionsOf(server) };
  const authorizer = createAuthorizer(options as AuthorizationOptions, time);
  const present = (token: string, from?: string, purpose?: 'recheck') =>
    authenticate(authorizer, `Bearer ${token}`, '/mcp', from, purpose);
  return { server, time, authorizer, present };
}

/** Authenticates a request with this header. */
export function authenticate(
  authorizer: Authorizer,
  header: string | undefined,
  target = '/mcp',
  remoteAddress?: string,
  purpose?: 'recheck',
): Promise<Authorization> {
  const read = (name: string) => (name === 'authorization' ? header : undefined);
  return authorizer.authenticate({ target, remoteAddress, header: read }, purpose);
}

/** The principal of an authorized request. */
export function principalOf(given: Authorization) {
  if (given.ok) return given.principal;
  throw new Error(`Refused with ${given.status}: ${given.message} ${given.detail ?? ''}`);
}
