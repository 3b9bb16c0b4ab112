/**
 * A plain hop through Redis: each process has a stream, reads what it is told there with
 * one look after another, and tells the other what has come together in two passes of the event loop. Nothing is
 * checked, kept, repeated or bounded in time.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { createClient } from 'redis';

/** What of a request's headers the other process needs. */
const names = ['mcp-session-id', 'mcp-protocol-version'];

/** How many looks are asked for ahead while something comes, and how long each waits, milliseconds. */
const looksAhead = 4;
const blockMs = '500';

/** Every so many texts the stream is trimmed to about as many. */
const kept = 64;

/** Gives `handOn(header, text, answered)`; what is handed on is answered by the other's `post(header, text)`. */
export async function sharedThrough(url, post) {
  const client = await createClient({ url, RESP: 2 }).connect();
  const reader = await client.duplicate().connect();
  const own = `inbox:${process.pid}`;
  await client.sendCommand(['XGROUP', 'CREATE', own, 'readers', '$', 'MKSTREAM']);
  await client.sendCommand(['RPUSH', 'inboxes', own]);
  const other = findOther(client, own);
  const waiting = new Map();
  let handed = 0;
  let isSending = false;
  let isGathering = false;
  let sent = 0;
  let letters = [];

  const gather = () => {
    if (isGathering || isSending) return;
    isGathering = true;
    setImmediate(() => setImmediate(() => void send()));
  };
  const send = async () => {
    isGathering = false;
    isSending = true;
    const text = JSON.stringify(letters);
    letters = [];
    const room = ++sent % kept === 0 ? ['MAXLEN', '~', String(kept)] : [];
    await client.sendCommand(['XADD', await other, ...room, '*', 'text', text]);
    isSending = false;
    if (letters.length > 0) gather();
  };
  const tell = (letter) => {
    letters.push(letter);
    gather();
  };

  const read = ([pipe, ...rest]) => {
    const answered = waiting.get(pipe);
    if (answered) {
      waiting.delete(pipe);
      const [status, headers, text] = rest;
      return answered({ status, headers, text });
    }
    const [values, text] = rest;
    const { status, headers, text: answer } = post((name) => values[names.indexOf(name)], text);
    tell([pipe, status, headers, answer]);
  };
  const look = () =>
    reader.sendCommand([
      ...['XREADGROUP', 'GROUP', 'readers', 'one', 'NOACK', 'BLOCK', blockMs],
      ...['STREAMS', own, '>'],
    ]);
  void (async () => {
    const looks = [];
    for (let ahead = 1; ;) {
      if (looks.length < ahead / 2) while (looks.length < ahead) looks.push(look());
      const found = await looks.shift();
      ahead = found ? looksAhead : 1;
      for (const [, [, text]] of found?.[0][1] ?? []) for (const one of JSON.parse(text)) read(one);
    }
  })();

  return (header, text, answered) => {
    const pipe = `${own}:${++handed}`;
    waiting.set(pipe, answered);
    tell([pipe, names.map((name) => header(name)), text]);
  };
}

/** Where the other process reads. */
async function findOther(client, own) {
  for (;;) {
    const inboxes = await client.sendCommand(['LRANGE', 'inboxes', '0', '-1']);
    const other = inboxes.find((inbox) => inbox !== own);
    if (other !== undefined) return other;
    await delay(20);
  }
}
