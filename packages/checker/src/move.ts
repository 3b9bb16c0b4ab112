/** What a client may do, one move at a time. A play is a sequence of moves against a server. */

/** Moves without a tool, each with a description for people. */
export const plainMoves = {
  initialize: 'send initialize; the client declares roots, sampling and elicitation',
  'initialize-bare': 'send initialize; the client declares nothing',
  'initialize-unknown': 'send initialize for a revision that does not exist',
  initialized: 'send notifications/initialized',
  rush: 'send initialize, initialized and a request in one chunk',
  early: 'send tools/list before initialize',
  wait: 'wait for the answer to initialize, then for the answer to a ping',
  end: 'close the input of the server',
  last: 'send a list request and close the input of the server',
  list: 'list what is declared',
  'list-all': 'ask for every kind of list, declared or not',
  twins: 'send two pings at once whose ids are a number and the same digits as a string',
  'odd-ids': 'send pings with the ids "", -1, 9007199254740991 and a text that is not ASCII',
  big: 'send a list request in a line of a megabyte',
  batch: 'send two requests and a notification as a JSON-RPC batch',
  'unknown-method': 'send a request of a method that no server has',
  'unknown-notification': 'send a notification of a method that no server has',
  'bad-cursor': 'ask for the page of a list at a cursor that was never given out',
  'bad-resource': 'read a resource that does not exist',
  'bad-prompt': 'get a prompt that does not exist',
  'bad-level': 'set a log level that does not exist',
  cancel: 'cancel the newest call in flight',
  'cancel-unknown': 'cancel a request that was never sent',
  'cancel-malformed': 'send a cancellation that names no request',
  'cancel-done': 'cancel a request that has been answered',
  'roots-changed': 'change the roots and say so',
  answer: 'answer the oldest request of the server',
  'answer-reversed': 'answer every request of the server, the newest first',
  'answer-twice': 'answer a request of the server once more',
  'answer-late': 'answer a request that the server has cancelled',
  'answer-unknown': 'answer a request that the server never sent',
  refuse: 'answer the oldest request of the server with an error',
  malformed: 'send a line that is not JSON',
  invalid: 'send a JSON object that is not a message',
  discover: 'send server/discover',
  'revision-unknown': 'send a request in a revision that does not exist',
  bare: 'send a list request that does not say who its client is',
  removed: 'send a ping, which the revision has not',
  listen: 'listen for changes of every list',
  unlisten: 'cancel the newest subscription',
  retry: 'send a call again, with the answers that it has asked for',
  'retry-twice': 'send the same retry once more',
  'retry-forged': 'send a call again, with a state that the server has not given out',
  'http-origin': 'over HTTP, send a request from a page of another site',
  'http-version': 'over HTTP, send a request whose MCP-Protocol-Version is wrong',
  'http-no-session': 'over HTTP, send a request without the id of the session',
  'http-strange-session': 'over HTTP, send a request with the id of a session that never was',
  'http-second-stream': 'over HTTP, open one more stream with GET',
  'http-resume': 'over HTTP, take a stream up again after its first event',
  'http-gone': 'over HTTP, end the session and send a request to it',
  'http-method': 'over HTTP, send a request whose Mcp-Method is another',
  'http-no-method': 'over HTTP, send a request without Mcp-Method',
  'http-name': 'over HTTP, send a request whose Mcp-Name is another',
  'http-encoded-name': 'over HTTP, read a resource whose Mcp-Name has to be encoded',
  'http-get': 'over HTTP, send GET and DELETE in a revision that has neither',
  'pass-time': 'let so much time pass that what waits is given up',
} as const;

/** Moves that call a tool. */
const toolMoves = {
  call: 'call the tool',
  'call-zero': 'call the tool in a request with the id 0',
  'call-bare': 'call the tool as a client that declares nothing',
} as const;

type PlainType = keyof typeof plainMoves;
type ToolType = keyof typeof toolMoves;

/** One move. It is also an event of the client's machine. */
export type Move =
  | { readonly type: PlainType }
  | { readonly type: ToolType; readonly tool: string };

export type MoveType = Move['type'];
export type MoveSequence = readonly Move[];

/**
 * Moves that no client may make, or only at its own risk. A server may do anything after them, so a
 * MUST is judged only by what came before.
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

/** A move as users write it on the command line: `cancel`, `call:echo`. */
function moveText(move: Move): string {
  return 'tool' in move ? `${move.type}:${move.tool}` : move.type;
}

export function sequenceText(sequence: MoveSequence): string {
  return sequence.map(moveText).join(' ');
}

/** Reads what {@link sequenceText} wrote; `unknown` is the first word that names no move. */
export function readSequence(
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

/** Every move with its description, for a help text. */
export function moveHelp(): string {
  const plain = Object.entries(plainMoves).filter(([type]) => type !== 'pass-time');
  const calls = Object.entries(toolMoves).map(([type, text]) => [`${type}:TOOL`, text] as const);
  return [...plain, ...calls].map(([type, text]) => `  ${type}: ${text}`).join('\n');
}
