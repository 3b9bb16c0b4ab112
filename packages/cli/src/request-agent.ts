/** How the bridge sends requests over HTTP: by an agent of undici, which costs a fraction of what `fetch` does. */
import type { HttpDispatcher } from 'mcp-actors/client';

/**
 * An agent, which is loaded with the first request. Undefined if Node is to read the environment's
 * proxies, which only its `fetch` does, and if the runtime is not Node.
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

/** What is called of undici's `DispatchHandler` if a request cannot be begun. */
interface FailingHandler {
  onResponseError(controller: null, error: unknown): void;
}

/** The whole of undici takes three times as long to load. */
async function madeAgent(): Promise<HttpDispatcher> {
  const { default: Agent } = await import('undici/lib/dispatcher/agent.js');
  return new Agent();
}
