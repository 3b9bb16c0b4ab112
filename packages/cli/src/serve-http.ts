/** `mcp-actors serve --http`: workspaces over HTTP. */
import { defaultHttpLimits } from 'mcp-actors/http';
import type { HttpOptions, Stores } from 'mcp-actors/http';
import { AddressError, endingOf, textOfError } from 'mcp-actors/internal';
import type { CommandFact, Ending, ServedEndpoint } from 'mcp-actors/internal';
import { serveHttp } from 'mcp-actors/serve';
import type { HttpServing } from 'mcp-actors/serve';
import type { Limits, McpSession, Report, SessionOptions } from 'mcp-actors';
import type { WorkspaceOptions } from '@mcp-actors/workspace-server';
import { UsageError } from './command.ts';
import type { HttpWish } from './options/http-wish.ts';
import { workspacesOf } from './workspaces.ts';

/** What is being served, until it ends. */
export interface Serving {
  readonly ending: Ending;
  /** Those that are open. */
  sessions(): readonly McpSession[];
  /** The endpoint, if it serves over HTTP. */
  readonly endpoint?: ServedEndpoint;
  /** How long calls may take to finish after a signal, milliseconds. */
  readonly drainTimeoutMs: number;
}

interface CommonOptions extends SessionOptions {
  readonly limits: Limits;
  readonly report: Report;
}

/** What each session gets. */
export interface EachSession {
  readonly session: CommonOptions;
  /** Gives what a session gets from outside, such as its recorder. */
  readonly environment: HttpOptions['environment'] | undefined;
}

/**
 * Listens, and prints the address on stderr.
 *
 * @throws {UsageError} the address cannot be listened on, or an option about it is wrong
 */
export async function startHttp(
  wish: HttpWish,
  workspace: WorkspaceOptions,
  each: EachSession,
): Promise<Serving> {
  const { session } = each;
  const serving = await listen(wish, workspace, each);
  const { href } = serving.url;
  process.stderr.write(`mcp-actors: serving over HTTP at ${href}\n`);
  session.report({
    level: 'info',
    name: 'http.listening',
    message: `Listening on ${href}`,
    details: { url: href },
  } satisfies CommandFact);
  return {
    ending: endingOf(serving),
    sessions: () => serving.sessions,
    endpoint: {
      url: href,
      maxSessions: wish.limits.maxSessions ?? defaultHttpLimits.maxSessions,
    },
    drainTimeoutMs: session.limits.drainTimeoutMs,
  };
}

async function listen(
  { host, authorization, allowedHosts, allowedOrigins, redis, ...wish }: HttpWish,
  workspace: WorkspaceOptions,
  { session, environment }: EachSession,
): Promise<HttpServing> {
  const stores = redis === undefined ? undefined : await storesAt(redis, wish.limits);
  try {
    return await serveHttp(workspacesOf(workspace), {
      ...wish,
      session,
      report: session.report,
      ...(stores ? { stores } : {}),
      ...(environment ? { environment } : {}),
      ...(host === undefined ? {} : { host }),
      ...(authorization ? { authorization } : {}),
      ...(allowedHosts.length > 0 ? { allowedHosts } : {}),
      ...(allowedOrigins.length > 0 ? { allowedOrigins } : {}),
    });
  } catch (error) {
    await stores?.close();
    const message = faultOf(error);
    if (message === undefined) throw error;
    throw new UsageError(`--http: ${message}`, { cause: error });
  }
}

/** What is shared with the other processes, within the limits of the endpoint. */
async function storesAt(url: string, given: HttpWish['limits']): Promise<Stores> {
  const endpoint = { ...defaultHttpLimits, ...given };
  const limits = {
    maxSessions: endpoint.maxSessions,
    idleMs: endpoint.sessionIdleTimeoutMs,
    maxEvents: endpoint.maxEvents,
    maxBytes: endpoint.maxEventBytes,
    maxAgeMs: endpoint.eventTtlMs,
    maxPushes: endpoint.maxWaitingPushes,
    maxPushBytes: endpoint.maxWaitingPushBytes,
  };
  try {
    // Its package is optional and may not be installed.
    const { redisStores } = await import('mcp-actors/redis');
    return await redisStores({ url, limits });
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    const why = isMissing ? 'the package "redis" is not installed' : textOfError(error);
    throw new UsageError(`--redis: ${why}`, { cause: error });
  }
}

/** What is wrong with the options; undefined if the error has another cause. */
function faultOf(error: unknown): string | undefined {
  const isFault = [TypeError, RangeError, AddressError].some((kind) => error instanceof kind);
  return isFault ? (error as Error).message : undefined;
}
