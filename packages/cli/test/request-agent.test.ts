/** What sends the requests of a bridge. */
import { expect, test, vi } from 'vitest';
import { requestAgent } from '../src/request-agent.ts';

test.each([
  ['NODE_USE_ENV_PROXY', '1'],
  ['NODE_OPTIONS', '--no-warnings --use-env-proxy'],
])('%s=%s leaves requests to fetch, which alone reads the proxies', (name, value) => {
  expect(requestAgent()).toBeDefined();
  vi.stubEnv(name, value);
  expect(requestAgent()).toBeUndefined();
});
