/** Messages that each move sends. */
import type { JsonObject } from 'mcp-actors';
import { MetaKey, Method } from 'mcp-actors/internal';
import type { Move, SendingType } from './move.ts';
import {
  initializeParams,
  listMethods,
  outgoingNotification,
  outgoingRequest,
  unknownRevision,
} from './outgoing.ts';
import type { ClientSide } from './client-side.ts';
import type { OddHeaders } from './server-process.ts';

type Sends = (client: ClientSide, move: Move) => void;

/** Longer than the buffers of pipes and most readers. */
const bigBytes = 1024 * 1024;

const initialize =
  (declares: 'all' | 'nothing', revision?: string): Sends =>
  (client, move) => {
    const params = initializeParams(revision ?? client.revision, declares);
    client.send(outgoingRequest(client.nextId(), Method.initialize, params), move);
  };

const asks =
  (method: string, params?: JsonObject): Sends =>
  (client, move) =>
    client.send(outgoingRequest(client.nextId(), method, params), move);

const notifies =
  (method: string, params?: JsonObject): Sends =>
  (client, move) =>
    client.send(outgoingNotification(method, params), move);

const calls =
  (id: (client: ClientSide) => number): Sends =>
  (client, move) => {
    if ('tool' in move) client.call(id(client), move.tool, move);
  };

/** An origin unrelated to any server. */
const foreignOrigin = 'https://check.invalid';

const strangeSession = 'check-no-such-session';

/** Asks what every server answers, with headers that differ from what a client should send. */
const oddly =
  (headers: OddHeaders['headers'], note: string): Sends =>
  (client, move) => {
    const method = client.isStateless ? Method.discover : Method.ping;
    client.send(outgoingRequest(client.nextId(), method), move, { headers, note });
  };

/** A list request that the server must answer: the first of those that it declares. */
const firstList = ({ declares }: ClientSide): string => listMethods(declares)[0] ?? 'tools/list';

export const moveMessages: { readonly [K in SendingType]: Sends } = {
  initialize: initialize('all'),
  'initialize-bare': initialize('nothing'),
  'initialize-unknown': initialize('nothing', unknownRevision),
  initialized: notifies(Method.initialized),
  'http-origin': oddly({ origin: foreignOrigin }, `with the header Origin: ${foreignOrigin}`),
  'http-version': oddly(
    { 'mcp-protocol-version': unknownRevision },
    `with the header MCP-Protocol-Version: ${unknownRevision}`,
  ),
  'http-no-session': oddly({ 'mcp-session-id': undefined }, 'without the header Mcp-Session-Id'),
  'http-strange-session': oddly(
    { 'mcp-session-id': strangeSession },
    `with the header Mcp-Session-Id: ${strangeSession}`,
  ),
  'http-gone': (client, move) => client.send(outgoingRequest(client.nextId(), Method.ping), move),
  'http-method': oddly(
    { 'mcp-method': 'check/another' },
    'with the header Mcp-Method: check/another',
  ),
  'http-no-method': oddly({ 'mcp-method': undefined }, 'without the header Mcp-Method'),
  'http-name': (client, move) => {
    const uri = 'check-no-such-scheme://nothing';
    const note = 'with the header Mcp-Name: check-another';
    const headers = { 'mcp-name': 'check-another' };
    client.send(outgoingRequest(client.nextId(), 'resources/read', { uri }), move, {
      headers,
      note,
    });
  },
  'http-encoded-name': asks('resources/read', { uri: 'check-no-such-scheme://\u{e9}' }),
  rush: (client, move) => {
    initialize('all')(client, move);
    client.send(outgoingNotification(Method.initialized), move);
    client.send(outgoingRequest(client.nextId(), firstList(client)), move);
  },
  early: asks('tools/list'),
  list: (client, move) => {
    for (const method of listMethods(client.declares)) asks(method)(client, move);
  },
  'list-all': (client, move) => {
    const all = { tools: true, resources: true, prompts: true };
    for (const method of listMethods(all)) asks(method)(client, move);
  },
  twins: (client, move) => {
    const id = client.nextId();
    client.send(outgoingRequest(id, Method.ping), move);
    client.send(outgoingRequest(String(id), Method.ping), move);
  },
  'odd-ids': (client, move) => {
    for (const id of ['', -1, Number.MAX_SAFE_INTEGER, 'é\u{1f94a}"\\']) {
      if (!client.isUsed(id)) client.send(outgoingRequest(id, Method.ping), move);
    }
  },
  big: (client, move) =>
    asks(firstList(client), { _meta: { 'check/filling': 'x'.repeat(bigBytes) } })(client, move),
  batch: (client, move) =>
    client.send(
      [
        outgoingRequest(client.nextId(), Method.ping),
        outgoingNotification('notifications/check/unknown'),
        outgoingRequest(client.nextId(), Method.ping),
      ],
      move,
    ),
  'unknown-method': asks('check/unknown'),
  'unknown-notification': notifies('notifications/check/unknown'),
  'bad-cursor': (client, move) =>
    asks(firstList(client), { cursor: 'check-no-such-cursor' })(client, move),
  'bad-resource': asks('resources/read', { uri: 'check-no-such-scheme://nothing' }),
  'bad-prompt': asks('prompts/get', { name: 'check-no-such-prompt' }),
  'bad-level': asks('logging/setLevel', { level: 'check-no-such-level' }),
  call: calls((client) => client.nextId()),
  'call-bare': (client, move) => {
    const _meta = { [MetaKey.clientCapabilities]: {} };
    if ('tool' in move) client.call(client.nextId(), move.tool, move, { _meta });
  },
  discover: asks(Method.discover),
  'revision-unknown': asks(Method.discover, {
    _meta: { [MetaKey.protocolVersion]: unknownRevision },
  }),
  bare: (client, move) => asks(firstList(client))(client, move),
  removed: asks(Method.ping),
  listen: (client, move) => client.listen(move),
  unlisten: (client, move) => client.unlisten(move),
  retry: (client, move) => client.retry(move),
  'retry-twice': (client, move) => client.retry(move),
  'retry-forged': (client, move) => client.retry(move),
  'call-zero': calls((client) => (client.isUsed(0) ? client.nextId() : 0)),
  cancel: (client, move) => client.cancel(move),
  'cancel-unknown': notifies(Method.cancelled, { requestId: 'check-never-sent' }),
  'cancel-malformed': notifies(Method.cancelled, {}),
  'cancel-done': (client, move) => {
    const id = client.done.at(-1);
    if (id !== undefined)
      client.send(outgoingNotification(Method.cancelled, { requestId: id }), move);
  },
  'roots-changed': (client, move) => {
    client.changeRoots();
    client.send(outgoingNotification(Method.rootsListChanged), move);
  },
  answer: (client, move) => {
    const [oldest] = client.held;
    if (oldest) client.answer(oldest, undefined, move);
  },
  'answer-reversed': (client, move) => {
    for (const held of [...client.held].reverse()) client.answer(held, undefined, move);
  },
  'answer-twice': (client, move) => {
    const last = client.answered.at(-1);
    if (last) client.answer(last, undefined, move);
  },
  'answer-late': (client, move) => client.answerLate(move),
  'answer-unknown': (client, move) =>
    client.send({ jsonrpc: '2.0', id: 'check-never-asked', result: {} }, move),
  refuse: (client, move) => {
    const [oldest] = client.held;
    const error = { code: -32603, message: 'The client failed' };
    if (oldest) client.answer(oldest, { error }, move);
  },
  malformed: (client, move) => client.sendText('{"jsonrpc": "2.0", "id": ', undefined, move),
  invalid: (client, move) =>
    client.send({ jsonrpc: '2.0', id: client.nextId(), nothing: true }, move),
};
