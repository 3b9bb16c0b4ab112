/** `serve --http` and `bridge --http`: serves over HTTP. */
import { defaultHttpLimits } from 'mcp-actors/http';
import type { HttpOptions, ServerFactory, Stores } from 'mcp-actors/http';
import { serving, textOfError } from 'mcp-actors/internal';
import type { Limits, Report, SessionOptions } from 'mcp-actors';
import { UsageError, addressFault } from './command.ts';
import type { HttpSettings } from './options/http-settings.ts';

interface CommonOptions extends SessionOptions {
  readonly limits: Limits;
  readonly report: Report;
}

/**
 * Starts listening and prints the URL to stderr.
 *
 * @param serverWith creates the server, given the shared stores
 * @param common options of every session
 * @param environment creates external inputs of a session, such as its recorder
 * @throws {UsageError} if the address is unavailable or an option is invalid
 */
export async function serveOverHttp(
  { host, authorization, allowedHosts, allowedOrigins, redis, nodeUrl, ...wish }: HttpSettings,
  serverWith: (stores: Stores | undefined) => ServerFactory,
  common: CommonOptions,
  environment?: HttpOptions['environment'],
): ReturnType<typeof serving.startHttp> {
  const stores = redis === undefined ? undefined : await storesAt(redis, wish.limits);
  const http = {
    ...wish,
    ...(stores ? { stores } : {}),
    ...(nodeUrl === undefined ? {} : { node: { url: nodeUrl } }),
    ...(environment ? { environment } : {}),
    ...(host === undefined ? {} : { host }),
    ...(authorization ? { authorization } : {}),
    ...(allowedHosts.length > 0 ? { allowedHosts } : {}),
    ...(allowedOrigins.length > 0 ? { allowedOrigins } : {}),
  };
  try {
    const started = await serving.startHttp(serverWith(stores), { ...common, http }, common);
    process.stderr.write(`mcp-actors: serving over HTTP at ${started.endpoint.url}\n`);
    return started;
  } catch (error) {
    await stores?.close();
    const message = faultOf(error);
    if (message === undefined) throw error;
    throw new UsageError(`--http: ${message}`, { cause: error });
  }
}

/** Opens the stores shared with other processes, with the endpoint's limits. */
async function storesAt(url: string, given: HttpSettings['limits']): Promise<Stores> {
  const endpoint = { ...defaultHttpLimits, ...given };
  const limits = {
    idleMs: endpoint.sessionIdleTimeoutMs,
    maxEvents: endpoint.maxEvents,
    maxBytes: endpoint.maxEventBytes,
    maxAgeMs: endpoint.eventTtlMs,
  };
  try {
    // The package is optional and may be missing.
    const { redisStores } = await import('mcp-actors/redis');
    return await redisStores({ url, limits });
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    const why = isMissing ? 'the package "redis" is not installed' : textOfError(error);
    throw new UsageError(`--redis: ${why}`, { cause: error });
  }
}

/** Message of an option or address error; undefined for other errors. */
function faultOf(error: unknown): string | undefined {
  const isOption = error instanceof TypeError || error instanceof RangeError;
  return isOption ? error.message : addressFault(error);
}
