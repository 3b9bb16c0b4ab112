/** Client moves. A play is a sequence of moves against a server. */

/** Moves without a tool, with their descriptions. */
export const plainMoves = {
  initialize: 'send initialize; the client declares roots, sampling and elicitation',
  'initialize-bare': 'send initialize; the client declares nothing',
  'initialize-unknown': 'send initialize for a nonexistent revision',
  initialized: 'send notifications/initialized',
  rush: 'send initialize, initialized and a request in one chunk',
  early: 'send tools/list before initialize',
  wait: 'wait for the answer to initialize, then for the answer to a ping',
  end: "close the server's input",
  last: "send a list request and close the server's input",
  list: 'list all declared kinds of items',
  'list-all': 'send every kind of list request, declared or not',
  twins: 'send two pings at once whose ids are a number and the same digits as a string',
  'odd-ids': 'send pings with the ids "", -1, 9007199254740991 and a non-ASCII string',
  big: 'send a list request in a line of a megabyte',
  batch: 'send two requests and a notification as a JSON-RPC batch',
  'unknown-method': 'send a request with an unknown method',
  'unknown-notification': 'send a notification with an unknown method',
  'bad-cursor': 'request a page at an invalid cursor',
  'bad-resource': 'read a nonexistent resource',
  'bad-prompt': 'get a nonexistent prompt',
  'bad-level': 'set a nonexistent log level',
  cancel: 'cancel the newest call in flight',
  'cancel-unknown': 'cancel a request that was never sent',
  'cancel-malformed': 'send a cancellation without a request id',
  'cancel-done': 'cancel a request that was already answered',
  'roots-changed': 'change the roots and announce it',
  answer: "answer the server's oldest request",
  'answer-reversed': 'answer all requests of the server, newest first',
  'answer-twice': 'answer a request of the server a second time',
  'answer-late': 'answer a request that the server has cancelled',
  'answer-unknown': 'answer a request that the server never sent',
  refuse: "answer the server's oldest request with an error",
  malformed: 'send a line that is not JSON',
  invalid: 'send a JSON object that is not a message',
  discover: 'send server/discover',
  'revision-unknown': 'send a request in a nonexistent revision',
  bare: 'send a list request that does not identify its client',
  removed: 'send a ping, which the revision does not have',
  listen: 'subscribe to changes of every list',
  unlisten: 'cancel the newest subscription',
  retry: 'retry a call with the requested answers',
  'retry-twice': 'send the same retry a second time',
  'retry-forged': 'retry a call with a forged request state',
  'http-origin': 'over HTTP, send a request with a foreign Origin',
  'http-version': 'over HTTP, send a request whose MCP-Protocol-Version is wrong',
  'http-no-session': 'over HTTP, send a request without the session id',
  'http-strange-session': 'over HTTP, send a request with an unknown session id',
  'http-second-stream': 'over HTTP, open one more stream with GET',
  'http-resume': 'over HTTP, resume a stream after its first event',
  'http-gone': 'over HTTP, end the session and send a request to it',
  'http-method': 'over HTTP, send a request with a mismatched Mcp-Method',
  'http-no-method': 'over HTTP, send a request without Mcp-Method',
  'http-name': 'over HTTP, send a request with a mismatched Mcp-Name',
  'http-encoded-name': 'over HTTP, read a resource whose Mcp-Name must be encoded',
  'http-get': 'over HTTP, send GET and DELETE in a revision that has neither',
  'pass-time': 'advance time until pending requests time out',
} as const;

/** Moves that call a tool. */
const toolMoves = {
  call: 'call the tool',
  'call-zero': 'call the tool in a request with the id 0',
  'call-bare': 'call the tool as a client that declares nothing',
} as const;

type PlainType = keyof typeof plainMoves;
type ToolType = keyof typeof toolMoves;

/** A move, which is also an event of the client's machine. */
export type Move =
  | { readonly type: PlainType }
  | { readonly type: ToolType; readonly tool: string };

export type MoveType = Move['type'];
export type MoveSequence = readonly Move[];

/**
 * Moves that are forbidden or risky for clients. A server may do anything afterwards, so a MUST is
 * only judged by what came before.
 */
const impolite: ReadonlySet<MoveType> = new Set([
  'rush',
  'early',
  'list-all',
  'cancel-unknown',
  'cancel-malformed',
  'answer-twice',
  'answer-unknown',
  'retry-forged',
  'malformed',
  'invalid',
  'http-origin',
  'http-version',
  'http-no-session',
  'http-strange-session',
  'http-gone',
  'http-method',
  'http-no-method',
  'http-name',
  'http-get',
]);

export function isImpolite({ type }: Move): boolean {
  return impolite.has(type);
}

/** Formats a move as on the command line: `cancel`, `call:echo`. */
function formatMove(move: Move): string {
  return 'tool' in move ? `${move.type}:${move.tool}` : move.type;
}

export function formatSequence(sequence: MoveSequence): string {
  return sequence.map(formatMove).join(' ');
}

/** Parses a sequence formatted by {@link formatSequence}; `unknown` is the first unknown word. */
export function parseSequence(
  text: string,
): { readonly moves: MoveSequence } | { readonly unknown: string } {
  const moves: Move[] = [];
  for (const word of text.split(/\s+/).filter((part) => part !== '')) {
    const [, type = '', tool] = /^([a-z-]+)(?::(.+))?$/.exec(word) ?? [];
    if (tool === undefined && Object.hasOwn(plainMoves, type)) {
      moves.push({ type: type as PlainType });
    } else if (tool !== undefined && Object.hasOwn(toolMoves, type)) {
      moves.push({ type: type as ToolType, tool });
    } else {
      return { unknown: word };
    }
  }
  return { moves };
}

/** Moves that only send messages. */
export type SendingType = Exclude<
  MoveType,
  'wait' | 'end' | 'last' | 'pass-time' | 'http-second-stream' | 'http-resume' | 'http-get'
>;

/** Descriptions of all moves, for help texts. */
export function moveHelp(): string {
  const plain = Object.entries(plainMoves).filter(([type]) => type !== 'pass-time');
  const calls = Object.entries(toolMoves).map(([type, text]) => [`${type}:TOOL`, text] as const);
  return [...plain, ...calls].map(([type, text]) => `  ${type}: ${text}`).join('\n');
}
