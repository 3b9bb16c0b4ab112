/**
 * Client for a server at a URL, over Streamable HTTP: each play has its own session or, in the
 * stateless era, is a series of requests. Implemented on the wire level, because it must send
 * invalid requests as well.
 *
 * @see MCP 2025-11-25, basic/transports, "Streamable HTTP"
 */
import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RequestId } from 'mcp-actors';
import { Method, closingChart, isJsonObject } from 'mcp-actors/internal';
import { hasVersionHeader } from '../invariants/http.ts';
import { isStateless } from '../outgoing.ts';
import type { Launch, OddHeaders, ServerListener, ServerWire } from '../server-process.ts';
import { idKey, messagesIn, parsed } from '../message.ts';
import { requestIdsIn, asks, isStream, isSuccess } from './exchange.ts';
import type { ObservedExchange, SseEvent } from './exchange.ts';
import { HttpCall } from './http-call.ts';
import type { HttpCallOptions } from './http-call.ts';
import { MirroredHeaders } from './mirrored-headers.ts';
import type { Headers } from './mirrored-headers.ts';

export interface HttpTarget {
  readonly url: URL;
  /** Headers sent with every request, such as a token. Neither recorded nor shown. */
  readonly headers: Headers;
  /** Revision the client requests. */
  readonly revision: string;
  /** Time limit for ending a session, ms. */
  readonly endMs: number;
}

/**
 * Launches plays against a server at a URL. `gone` resolves once the sessions of killed plays are
 * ended, or that has failed.
 */
export function launchHttp(target: HttpTarget): Launch & { gone(): Promise<unknown> } {
  const mirrored = new MirroredHeaders(target.revision);
  const leaving: Promise<void>[] = [];
  const launch: Launch = (listener) => new HttpWire(target, mirrored, listener, leaving);
  return Object.assign(launch, { gone: () => Promise.all(leaving) });
}

/** Delay before resuming a stream, unless the server specifies one, ms. */
const defaultRetryMs = 500;

/** Maximum number of resumptions per play. */
const maxResumptions = 20;

/** Listener after a play is over; ignores everything. */
const nobody: ServerListener = { line() {}, ended() {} };

type Session =
  | { readonly state: 'none' }
  | { readonly state: 'open'; readonly id: string; readonly revision: string }
  | { readonly state: 'sessionless'; readonly revision: string }
  | { readonly state: 'deleted'; readonly id: string; readonly revision: string };

class HttpWire implements ServerWire {
  readonly #target: HttpTarget;
  readonly #mirrored: MirroredHeaders;
  #listener: ServerListener;
  readonly #agent: Agent;
  readonly #calls = new Set<HttpCall>();
  /** Ids of received events, with the exchange their stream began with. */
  readonly #eventIds = new Map<string, ObservedExchange>();
  readonly #answered = new Set<string>();
  readonly #pauses = new AbortController();
  /** Serializes sending. */
  #queue: Promise<void> = Promise.resolve();
  #session: Session = { state: 'none' };
  /** The latest initialize request. */
  #greeting: HttpCall | undefined;
  #closing = closingChart.initial;
  #resumptions = 0;
  readonly #leaving: Promise<void>[];

  constructor(
    target: HttpTarget,
    mirrored: MirroredHeaders,
    listener: ServerListener,
    leaving: Promise<void>[],
  ) {
    this.#target = target;
    this.#leaving = leaving;
    this.#mirrored = mirrored;
    this.#listener = listener;
    const isSecure = target.url.protocol === 'https:';
    this.#agent = isSecure ? new SecureAgent({ keepAlive: true }) : new Agent({ keepAlive: true });
  }

  send(text: string, odd?: OddHeaders): void {
    for (const line of text.split('\n').filter((each) => each !== '')) {
      void this.#inTurn(() => this.#post(line, odd));
    }
  }

  end(): void {
    if (this.#closing.value !== 'open') return;
    this.#closing = closingChart.next(this.#closing, { type: 'close.begin' });
    void this.#finish();
  }

  kill(): void {
    if (this.#closing.value !== 'closed') this.#leaving.push(this.#abandon());
  }

  readonly http = {
    secondStream: () => this.#inTurn(() => this.#listen('second-stream')),
    resume: () => this.#inTurn(() => this.#resumeFirst()),
    endSession: () => this.#inTurn(() => this.#delete()),
    stray: () =>
      this.#inTurn(async () => {
        await this.#listen('stray');
        await this.#begin({ purpose: 'stray', method: 'DELETE', headers: this.#headers() }).settled;
      }),
  };

  /** Runs an action after all earlier ones. */
  #inTurn(action: () => Promise<void>): Promise<void> {
    this.#queue = this.#queue.then(() => (this.#closing.value === 'closed' ? undefined : action()));
    return this.#queue;
  }

  async #post(line: string, odd: OddHeaders | undefined): Promise<void> {
    const sent = parsed(line);
    if (this.#closes(sent)) return;
    const headers: { [name: string]: string } = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...this.#headers(sent),
    };
    for (const [name, value] of Object.entries(odd?.headers ?? {})) {
      if (value === undefined) delete headers[name];
      else headers[name] = value;
    }
    const call = this.#begin({ purpose: 'message', method: 'POST', headers, body: line, sent });
    const methods = messagesIn(sent).map(({ method }) => method);
    const isGreeting = methods.includes(Method.initialize);
    if (isGreeting) this.#greeting = call;
    // Keep the order of messages, as far as the operating system allows.
    await call.written;
    if (isGreeting) await this.#greeted(call);
    else if (requestIdsIn(call).length === 0) await call.settled;
    if (methods.includes(Method.initialized) && isSuccess(call.status)) {
      await this.#listen('stream');
    }
  }

  /** Cancels a request by closing its stream, as the stateless era requires. */
  #closes(sent: unknown): boolean {
    if (!this.#isStateless || !isJsonObject(sent) || sent['method'] !== Method.cancelled) {
      return false;
    }
    const id = isJsonObject(sent['params']) ? sent['params']['requestId'] : undefined;
    const call = [...this.#calls].find((each) => asks(each, id as RequestId));
    call?.close();
    return call !== undefined;
  }

  get #isStateless(): boolean {
    return isStateless(this.#target.revision);
  }

  /** Waits for the response to initialize, because later requests need its session id. */
  async #greeted(call: HttpCall): Promise<void> {
    const keys = requestIdsIn(call).map(idKey);
    await call.settled;
    while (call.outcome === 'open' && !keys.some((key) => this.#answered.has(key))) {
      await Promise.race([call.ended, new Promise<void>((resolve) => (this.#heard = resolve))]);
    }
  }

  /** Called with each message. */
  #heard: () => void = () => {};

  #headers(sent?: unknown): Headers {
    const common = this.#target.headers;
    if (this.#isStateless) {
      return { ...common, ...this.#mirrored.of(isJsonObject(sent) ? sent : {}) };
    }
    const session = this.#session;
    if (session.state === 'none') return common;
    return {
      ...common,
      ...('id' in session ? { 'mcp-session-id': session.id } : {}),
      ...(hasVersionHeader(session.revision) ? { 'mcp-protocol-version': session.revision } : {}),
    };
  }

  #begin(options: Omit<HttpCallOptions, 'url' | 'agent'>): HttpCall {
    const { url } = this.#target;
    const call = new HttpCall(
      { ...options, url, agent: this.#agent },
      {
        answered: (each) => this.#take(each),
        event: (each, event) => this.#takeEvent(each, event),
        over: (each) => this.#ended(each),
      },
    );
    this.#calls.add(call);
    return call;
  }

  #take(call: HttpCall): void {
    this.#listener.answered?.(call);
    if (isStream(call) || call.body === '') return;
    // The error body of a rejected notification is not part of the conversation.
    const isSilent =
      isJsonObject(call.sent) && requestIdsIn(call).length === 0 && isKnown(call.sent);
    if (call.method !== 'POST' || isSilent) return;
    const value = parsed(call.body);
    const isMessage = isSuccess(call.status)
      ? call.contentType === 'application/json'
      : isError(value);
    if (isMessage) this.#hand(call, call.body, value);
  }

  #takeEvent(call: HttpCall, { id, data }: SseEvent): void {
    const isReplayed = call.resumes !== undefined && id !== undefined && this.#eventIds.has(id);
    if (id !== undefined && !this.#eventIds.has(id)) this.#eventIds.set(id, originOf(call));
    if (!isReplayed && data !== '') this.#hand(call, data, parsed(data));
  }

  #hand(call: HttpCall, text: string, value: unknown): void {
    this.#mirrored.learn(value);
    for (const message of messagesIn(value)) {
      if (typeof message['method'] === 'string') continue;
      this.#answered.add(idKey(message['id']));
      this.#greet(call, message['result']);
    }
    this.#heard();
    this.#listener.line(text, call);
  }

  #greet(call: HttpCall, result: unknown): void {
    const isGreeting = messagesIn(call.sent).some(({ method }) => method === Method.initialize);
    if (!isGreeting || !isJsonObject(result)) return;
    const id = call.headers['mcp-session-id'];
    const { protocolVersion } = result;
    const revision = typeof protocolVersion === 'string' ? protocolVersion : this.#target.revision;
    this.#session =
      id === undefined ? { state: 'sessionless', revision } : { state: 'open', id, revision };
  }

  #ended(call: HttpCall): void {
    this.#calls.delete(call);
    if (this.#closing.value === 'closed') return;
    if (call.unreachable !== undefined) return this.#end(call.unreachable);
    const isGivenUp = !isStream(call) || call.outcome === 'closed' || !this.#isWanted(call);
    const lastId = isGivenUp ? undefined : lastEventId(call);
    if (lastId !== undefined || (!isGivenUp && call.purpose === 'stream')) {
      void this.#resumeLater(call, lastId);
    } else {
      this.#listener.over?.(originOf(call));
    }
  }

  /** True if the client still expects messages on the stream. */
  #isWanted(call: HttpCall): boolean {
    const origin = originOf(call);
    if (this.#isStateless || this.#closing.value !== 'open') return false;
    if (this.#session.state === 'deleted' || this.#resumptions >= maxResumptions) return false;
    if (origin.purpose === 'stream') return true;
    return requestIdsIn(origin).some((id) => !this.#answered.has(idKey(id)));
  }

  async #resumeLater(call: HttpCall, lastId: string | undefined): Promise<void> {
    this.#resumptions++;
    await this.#pause(call.retryMs ?? defaultRetryMs);
    if (this.#closing.value !== 'open') return;
    if (lastId === undefined) await this.#listen('stream');
    else await this.#resume(originOf(call), lastId);
  }

  /** Opens a stream for server-initiated messages and waits for the response. */
  async #listen(purpose: 'stream' | 'second-stream' | 'stray'): Promise<void> {
    if (this.#isStateless !== (purpose === 'stray')) return;
    const headers = { ...this.#headers(), accept: 'text/event-stream' };
    const call = this.#begin({ purpose, method: 'GET', headers });
    // Some servers send nothing before the first event.
    await Promise.race([call.settled, this.#pause(defaultRetryMs)]);
  }

  /** Closes the first resumable stream and resumes it after its first event. */
  async #resumeFirst(): Promise<void> {
    const [first] = this.#eventIds;
    if (first === undefined) return;
    const [id, origin] = first;
    for (const call of this.#calls) {
      if (originOf(call) === origin) call.close();
    }
    await this.#resume(origin, id);
  }

  async #resume(origin: ObservedExchange, lastId: string): Promise<void> {
    const headers = { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': lastId };
    const options = { method: 'GET', headers, resumes: origin } as const;
    const call = this.#begin({ purpose: 'resumption', ...options });
    await Promise.race([call.settled, this.#pause(defaultRetryMs)]);
  }

  async #delete(): Promise<void> {
    if (this.#session.state !== 'open') return;
    await Promise.race([this.#deletion().settled, this.#pause(this.#target.endMs)]);
  }

  #deletion(): HttpCall {
    const headers = this.#headers();
    if ('id' in this.#session) this.#session = { ...this.#session, state: 'deleted' };
    return this.#begin({ purpose: 'deletion', method: 'DELETE', headers });
  }

  /**
   * Ends the play at once, then deletes the abandoned session. Only process exit waits for this.
   */
  async #abandon(): Promise<void> {
    const { endMs } = this.#target;
    // The response has the session id.
    const greeting = this.#session.state === 'none' ? this.#greeting : undefined;
    // The server may or may not have processed a pending DELETE.
    const isDeleting = [...this.#calls].some(({ purpose }) => purpose === 'deletion');
    this.#over(undefined, greeting);
    if (greeting) await within(endMs, greeting, this.#greeted(greeting));
    if (this.#session.state === 'open' || isDeleting) {
      const call = this.#deletion();
      await within(endMs, call, call.settled);
    }
    this.#agent.destroy();
  }

  /** Ends the session once everything is sent. */
  async #finish(): Promise<void> {
    const isLate = this.#pause(this.#target.endMs);
    await Promise.race([this.#queue, isLate]);
    // A stream may end slightly after its response.
    const answered = [...this.#calls].filter((call) => call.purpose === 'message' && isDone(call));
    await Promise.race([
      Promise.all(answered.map((call) => call.ended)),
      this.#pause(defaultRetryMs),
    ]);
    if (this.#closing.value === 'closing') await this.#delete();
    this.#end();
  }

  #end(failure?: string): void {
    if (this.#closing.value === 'closed') return;
    this.#over(failure);
    this.#agent.destroy();
  }

  /** @param greeting initialize request to keep, because the session it creates must be deleted */
  #over(failure?: string, greeting?: HttpCall): void {
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
    this.#pauses.abort();
    for (const call of this.#calls) {
      if (call !== greeting) call.close();
    }
    const exit = { code: null, signal: null, process: 'none' } as const;
    this.#listener.ended(failure === undefined ? exit : { ...exit, failure });
    this.#listener = nobody;
  }

  async #pause(durationMs: number): Promise<void> {
    const { signal } = this.#pauses;
    await sleep(durationMs, undefined, { signal }).catch(() => {});
  }
}

/** Waits for the outcome of a call and closes it after `durationMs`. */
async function within(durationMs: number, call: HttpCall, brought: Promise<void>): Promise<void> {
  const timer = setTimeout(() => call.close(), durationMs);
  await brought;
  clearTimeout(timer);
}

/** The exchange in which a stream began. */
function originOf(call: ObservedExchange): ObservedExchange {
  return call.resumes ?? call;
}

function lastEventId({ events }: ObservedExchange): string | undefined {
  return events.findLast(({ id }) => id !== undefined && id !== '')?.id;
}

/** True if the stream has delivered responses to all its requests. */
function isDone(call: ObservedExchange): boolean {
  const answers = new Set(
    call.events.flatMap(({ data }) =>
      messagesIn(parsed(data))
        .filter(({ method }) => method === undefined)
        .map(({ id }) => idKey(id)),
    ),
  );
  const asked = requestIdsIn(call);
  return isStream(call) && asked.length > 0 && asked.every((id) => answers.has(idKey(id)));
}

/** True for a notification or response. */
function isKnown(message: { readonly [member: string]: unknown }): boolean {
  return typeof message['method'] === 'string' || 'result' in message || 'error' in message;
}

function isError(value: unknown): boolean {
  return isJsonObject(value) && isJsonObject(value['error']);
}
