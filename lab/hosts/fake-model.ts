/**
 * A fake model for hosts that only call tools for signed-in users. It implements four vendors'
 * APIs, calls one tool per conversation, and records what hosts offer and return to it.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Behaviour of the model: it calls the tool with a matching name if offered. */
export interface Wish {
  readonly tool: RegExp;
  readonly args: object;
  /** Actions before each of its calls; one call by default. */
  readonly before?: readonly (() => void)[];
}

/** Any JSON sent by a host. */
type Body = { readonly [member: string]: unknown };

/** A vendor's API format. */
interface Api {
  /** Matches the request path. */
  readonly path: RegExp;
  tools(body: Body): readonly string[];
  /** Tool results in the conversation so far, as JSON. */
  results(body: Body): readonly string[];
  /** Events of a response. */
  call(name: string, args: object, id: string): readonly object[];
  text(text: string): readonly object[];
  /** Final line of a stream, if the API has one. */
  readonly end?: string;
}

const of = (list: unknown): readonly Body[] => (Array.isArray(list) ? list : []) as Body[];

const anthropic: Api = {
  path: /\/v1\/messages$/,
  tools: ({ tools }) => of(tools).map(({ name }) => String(name)),
  results: ({ messages }) =>
    of(messages)
      .flatMap(({ content }) => of(content))
      .filter(({ type }) => type === 'tool_result')
      .map(({ content }) => JSON.stringify(content)),
  call: (name, args, id) =>
    anthropicBlock(
      { type: 'tool_use', id, name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
      'tool_use',
    ),
  text: (text) =>
    anthropicBlock({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
};

function anthropicBlock(content_block: object, delta: object, stop_reason: string) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'fake', content: [] };
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

const gemini: Api = {
  path: /:(streamG|g)enerateContent$/,
  tools: ({ tools }) =>
    of(tools)
      .flatMap(({ functionDeclarations }) => of(functionDeclarations))
      .map(({ name }) => String(name)),
  results: ({ contents }) =>
    of(contents)
      .flatMap(({ parts }) => of(parts))
      .flatMap(({ functionResponse }) =>
        functionResponse ? [JSON.stringify(functionResponse)] : [],
      ),
  call: (name, args) => geminiPart({ functionCall: { name, args } }),
  text: (text) => geminiPart({ text }),
};

function geminiPart(part: object) {
  const content = { role: 'model', parts: [part] };
  return [
    {
      candidates: [{ index: 0, content, finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
    },
  ];
}

const responses: Api = {
  path: /\/responses$/,
  // Codex puts a server's tools into a namespace.
  tools: ({ tools }) =>
    of(tools).flatMap(({ name, tools: inner }) =>
      inner ? of(inner).map((tool) => `${String(name)}.${String(tool['name'])}`) : [String(name)],
    ),
  results: ({ input }) =>
    of(input)
      .filter(({ type }) => type === 'function_call_output')
      .map(({ output }) => JSON.stringify(output)),
  call: (named, args, id) => {
    const [namespace, name] = named.includes('.') ? named.split('.') : [undefined, named];
    return responsesItem({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      namespace,
      name,
      arguments: JSON.stringify(args),
    });
  },
  text: (text) =>
    responsesItem({
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [{ type: 'output_text', text }],
    }),
};

function responsesItem(item: object) {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
  ];
}

const completions: Api = {
  path: /\/chat\/completions$/,
  tools: ({ tools }) => of(tools).map((tool) => String((tool['function'] as Body)['name'])),
  results: ({ messages }) =>
    of(messages)
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => JSON.stringify(content)),
  call: (name, args, id) =>
    completion(
      {
        tool_calls: [
          {
            index: 0,
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(args) },
          },
        ],
      },
      'tool_calls',
    ),
  text: (content) => completion({ content }, 'stop'),
  end: '[DONE]',
};

function completion(delta: object, finish_reason: string) {
  const chunk = { id: 'chat_1', object: 'chat.completion.chunk', created: 0, model: 'fake' };
  return [
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', ...delta } }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
  ];
}

const apis = [anthropic, gemini, responses, completions];

export class FakeModel {
  /** Base URL of the model. */
  readonly url: string;
  /** Names of the tools offered to it. */
  readonly tools = new Set<string>();
  /** Tool results returned to it, as JSON. */
  readonly handed = new Set<string>();
  readonly #server: ReturnType<typeof createServer>;

  private constructor(server: ReturnType<typeof createServer>) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(wish: Wish): Promise<FakeModel> {
    const server = createServer((request, response) => {
      void model.#answer(request, response, wish);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const model = new FakeModel(server);
    return model;
  }

  /** Resets the records. */
  forget(): void {
    this.tools.clear();
    this.handed.clear();
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse, wish: Wish): Promise<void> {
    const { pathname } = new URL(request.url ?? '', this.url);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const api = apis.find(({ path }) => path.test(pathname));
    if (!api || request.method !== 'POST') return void response.writeHead(404).end('{}');
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Body;
    const tools = api.tools(body);
    const results = api.results(body);
    for (const name of tools) this.tools.add(name);
    for (const result of results) this.handed.add(result);
    const { before = [() => {}] } = wish;
    const name = tools.find((each) => wish.tool.test(each));
    const prepare = name === undefined ? undefined : before[results.length];
    prepare?.();
    const id = `call_${results.length + 1}`;
    const events = name && prepare ? api.call(name, wish.args, id) : api.text('Done.');
    if (pathname.endsWith(':generateContent')) {
      response.setHeader('content-type', 'application/json');
      return void response.end(JSON.stringify(events[0]));
    }
    response.setHeader('content-type', 'text/event-stream');
    for (const event of events) {
      const { type } = event as { readonly type?: string };
      response.write(`${type ? `event: ${type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
    }
    response.end(api.end === undefined ? '' : `data: ${api.end}\n\n`);
  }
}
