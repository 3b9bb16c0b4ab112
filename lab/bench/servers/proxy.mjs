/**
 * Minimal stdio bridge that parses JSON: `node proxy.mjs ARGS...` launches a server with these
 * `node` arguments and translates request ids. Makes no guarantees: no eras, validation,
 * cancellation or shutdown.
 */
import { spawn } from 'node:child_process';

const server = spawn(process.execPath, process.argv.slice(2), {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const ids = new Map();
let asked = 0;

/** Handles the messages of a stream. */
function read(from, take) {
  let rest = [];
  from.on('data', (chunk) => {
    const last = chunk.lastIndexOf(10);
    if (last === -1) {
      rest.push(chunk);
      return;
    }
    rest.push(chunk.subarray(0, last));
    const lines = (rest.length === 1 ? rest[0] : Buffer.concat(rest)).toString().split('\n');
    rest = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
    for (const line of lines) take(JSON.parse(line));
  });
}

/** Writes messages, batched per chunk. */
function writer(to) {
  let output = '';
  return (message) => {
    if (output === '') {
      queueMicrotask(() => {
        to.write(output);
        output = '';
      });
    }
    output += `${JSON.stringify(message)}\n`;
  };
}

const toServer = writer(server.stdin);
const toClient = writer(process.stdout);
read(process.stdin, (message) => {
  if (message.id !== undefined) {
    ids.set(++asked, message.id);
    message.id = asked;
  }
  toServer(message);
});
read(server.stdout, (message) => {
  const { id } = message;
  message.id = ids.get(id);
  ids.delete(id);
  toClient(message);
});
process.stdin.on('end', () => server.stdin.end());
server.on('exit', () => process.exit());
