/** Limits of time hold for a response that never ends, while the heap is collected. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { authorize, refusal } from './authorizing.ts';
import { agree, call, startProtected } from './protected-server.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

afterEach(() => setFlagsFromString('--no-expose-gc'));

test('ends a login at an authorization server that drips its answer, although the heap is collected meanwhile', async () => {
  const { timeout } = AbortSignal;
  // A spy would keep the signals that it gives.
  AbortSignal.timeout = () => timeout.call(AbortSignal, 2000);
  onTestFinished(() => void (AbortSignal.timeout = timeout));
  const { issuer, url } = await startProtected();
  let drops = 0;
  const dripped = new Promise<string>((resolve) => {
    issuer.fault = (request, response) => {
      if (request.url !== '/.well-known/oauth-authorization-server') return false;
      response.writeHead(200, { 'content-type': 'application/json' });
      const dripping = setInterval(() => {
        collect();
        response.write(' ');
        if (++drops === 1000) resolve('still open after 1000 drops');
      }, 10);
      response.once('close', () => clearInterval(dripping));
      onTestFinished(() => clearInterval(dripping));
      return true;
    };
  });
  const called = call(authorize(url, { visit: agree }), url, 'read').then(refusal);
  expect(await Promise.race([called, dripped])).toMatch(/^unreachable: .*TimeoutError/);
});
