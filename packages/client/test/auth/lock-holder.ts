/** A process that takes the lock of a key, says so, and holds it until it reads a line. */
import { createInterface } from 'node:readline';
import { fileCredentialStore } from '../../src/auth/file-store.ts';

const [folder = ''] = process.argv.slice(2);
const store = fileCredentialStore({ folder });
const lines = createInterface(process.stdin)[Symbol.asyncIterator]();

process.stdout.write('ready\n');
for (;;) {
  const { value: key = '', done } = await lines.next();
  if (done) break;
  await store.exclusive(key, async () => {
    process.stdout.write(`holds ${key}\n`);
    await lines.next();
  });
  process.stdout.write('released\n');
}
