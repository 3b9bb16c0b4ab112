/** A process that asks a server for something after each line, says when it is refused, and what came of it. */
import { systemClock } from '../../../../src/actors/clock.ts';
import { unobserved } from '../../../../src/actors/transitions.ts';
import { createInterface } from 'node:readline';
import { fileCredentialStore } from '../../src/auth/file-store.ts';
import { hostAuthorization } from '../../src/auth/host-authorization.ts';

const [folder = '', url = '', who = 'nobody'] = process.argv.slice(2);
const store = fileCredentialStore({ folder });
// With a person, the program that BROWSER names is theirs.
const auth =
  who === 'person'
    ? { store }
    : { store, visit: () => Promise.reject(new Error('Nobody is here')) };
const authorization = hostAuthorization(
  url,
  auth,
)?.({
  asked: () => {},
  observed: unobserved,
  clock: systemClock,
});
if (!authorization) throw new Error('It is not allowed');
authorization.begin();

const ask = async (): Promise<string> => {
  for (let retries = 0; ; retries++) {
    const sent = await authorization.headers(url);
    const response = await fetch(url, { method: 'DELETE', headers: sent });
    // A DELETE without a session is refused, but only of those who may come in.
    if (response.status !== 401) return response.status === 400 ? '200' : `${response.status}`;
    process.stdout.write('refused\n');
    const outcome = await authorization.challenged({
      status: 401,
      wwwAuthenticate: response.headers.get('www-authenticate') ?? undefined,
      url,
      sent,
      retries,
    });
    if (outcome.kind !== 'retry') return outcome.error.message;
  }
};

process.stdout.write('ready\n');
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();
while (!(await lines.next()).done) process.stdout.write(`${await ask()}\n`);
