/** HTTP client of the bridge: an undici agent, which is much cheaper than `fetch`. */
import type { HttpDispatcher } from 'mcp-actors/client';

/**
 * Creates an agent that is loaded with the first request. Undefined if Node must use the
 * environment's proxies, which only its `fetch` supports, and on other runtimes.
 *
 * @see docs/maintaining/decisions/19-nothing-is-sent-twice.md
 */
export function requestAgent(): HttpDispatcher | undefined {
  const { env, execArgv, versions } = process;
  const flags = [...execArgv, ...(env['NODE_OPTIONS'] ?? '').split(/\s+/)];
  const readsProxies = env['NODE_USE_ENV_PROXY'] === '1' || flags.includes('--use-env-proxy');
  if (readsProxies || versions.undici === undefined) return undefined;
  let agent: Promise<HttpDispatcher> | undefined = undefined;
  return {
    dispatch: (request, handler) => {
      agent ??= madeAgent();
      const sent = agent.then((made) => made.dispatch(request, handler));
      sent.catch((error: unknown) => (handler as FailingHandler).onResponseError(null, error));
    },
  };
}

/** The method of undici's `DispatchHandler` that reports a failed start. */
interface FailingHandler {
  onResponseError(controller: null, error: unknown): void;
}

/** Imports one module, because all of undici takes three times as long to load. */
async function madeAgent(): Promise<HttpDispatcher> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent();
}
