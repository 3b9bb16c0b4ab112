/**
 * Client of one session. Requests go to random nodes, broken streams are resumed at another, and
 * the server's requests are answered at a third. It honours `Retry-After`, and `retry` of streams,
 * like real clients.
 */
import { setTimeout as delay } from 'node:timers/promises';
import {
  EventReader,
  initializeRequest,
  postHeaders,
} from '../../packages/http/test/raw-client.ts';
import type { Message, RawEvent } from '../../packages/http/test/raw-client.ts';
import type { Fleet, NodePlace } from './fleet.ts';
import type { History } from './history.ts';
import type { Chance } from '../../test/tooling/chance.ts';

/** Outcome of a request. */
export type Outcome =
  | { readonly kind: 'result'; readonly result: NonNullable<Message['result']> }
  | { readonly kind: 'error'; readonly text: string }
  /** Answered with a status of 400 or above. */
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  /** No response: unknown whether it was served. */
  | { readonly kind: 'lost'; readonly text: string };

export interface Answer {
  readonly outcome: Outcome;
  /** Events on its streams before the response, in order, without duplicates. */
  readonly before: readonly Message[];
}

/**
 * Time after which an unsettled request counts as hung, ms. Covers a running handler and its
 * requests to the client.
 */
const patienceMs = 25_000;

/** Time limit for response headers, ms: long responses are streams. */
const headMs = 10_000;

/** Attempts of an idempotent request or a resumption. */
const tries = 12;

export interface SessionClientOptions {
  readonly name: string;
  readonly fleet: Fleet;
  readonly history: History;
  readonly chance: Chance;
  /** Called with messages on the session's own stream. */
  onPush(message: Message): void;
}

export class SessionClient {
  readonly name: string;
  readonly #fleet: Fleet;
  readonly #history: History;
  readonly #chance: Chance;
  readonly #onPush: (message: Message) => void;
  readonly #left = new AbortController();
  #headers: { [name: string]: string } = {};
  #id = 0;
  /** Requests without a response. */
  readonly due = new Set<string>();
  /** Number of owners of the session, derived from its stream names. */
  owners = 0;
  #owner: string | undefined;
  /** Version of the roots it lists. */
  rootsVersion = 0;

  constructor({ name, fleet, history, chance, onPush }: SessionClientOptions) {
    this.name = name;
    this.#fleet = fleet;
    this.#history = history;
    this.#chance = chance;
    this.#onPush = onPush;
  }

  /** Begins the session with retries, and opens its own stream. */
  async begin(): Promise<void> {
    const capabilities = { roots: { listChanged: true }, elicitation: {} };
    const what = `${this.name} initialize`;
    this.due.add(what);
    while (!this.#left.signal.aborted) {
      const { node, response } = await this.#send(initializeRequest('2025-11-25', capabilities));
      if (!(response instanceof Response)) {
        const why = `${response.message} (${String(response.cause)})`;
        this.#history.write(`${this.name} could not begin at ${node?.name ?? 'any node'}: ${why}`);
        await delay(100);
        continue;
      }
      const id = response.headers.get('mcp-session-id');
      const text = await response.text().catch(String);
      if (response.status !== 200 || id === null) {
        const why = `${response.status} ${text}`;
        this.#history.write(`${this.name} could not begin at ${node?.name}: ${why}`);
        await retryTime(response);
        continue;
      }
      this.#headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
      this.#history.write(`${this.name} began at ${node?.name}: ${id}`);
      await this.notify('notifications/initialized');
      this.due.delete(what);
      void this.#listen();
      return;
    }
  }

  get hasBegun(): boolean {
    return 'mcp-session-id' in this.#headers;
  }

  /** Disconnects without ending the session. */
  leave(): void {
    this.#left.abort();
  }

  call(tool: string, args: object): Promise<Answer> {
    return this.request('tools/call', { name: tool, arguments: args });
  }

  /** Retries a request while it is rejected with 503. It must be idempotent. */
  async insist(method: string, params: object): Promise<Outcome> {
    let outcome: Outcome = { kind: 'lost', text: 'never sent' };
    for (let attempt = 0; attempt < tries; attempt++) {
      ({ outcome } = await this.request(method, params));
      if (outcome.kind !== 'refused' || outcome.status !== 503) return outcome;
    }
    return outcome;
  }

  async request(method: string, params: object): Promise<Answer> {
    const id = ++this.#id;
    const what = `${this.name} ${method} ${id} ${JSON.stringify(params)}`;
    const began = this.#history.now;
    this.due.add(what);
    const { node, response } = await this.#send({ jsonrpc: '2.0', id, method, params });
    this.#history.write(`${what} → ${node?.name ?? 'no node'}: ${shownStatus(response)}`);
    const answer = await this.#read(id, response);
    this.due.delete(what);
    const took = this.#history.now - began;
    this.#history.write(
      `${this.name} ${id} after ${took.toFixed(0)} ms: ${JSON.stringify(answer.outcome)}`,
    );
    if (took > patienceMs) this.#history.accuse(`${what} had no answer for ${took.toFixed(0)} ms`);
    return answer;
  }

  /**
   * Sends a notification until accepted.
   *
   * @returns the last status; undefined if the client has left
   */
  async notify(method: string): Promise<number | undefined> {
    return this.#sendUntilTaken({ jsonrpc: '2.0', method });
  }

  /**
   * Ends the session.
   *
   * @returns the status; undefined without a response
   */
  async delete(): Promise<number | undefined> {
    const { node, response } = await this.#fetch({ method: 'DELETE', headers: this.#headers });
    const status = response instanceof Response ? response.status : undefined;
    if (response instanceof Response) await response.text().catch(() => '');
    this.#history.write(`${this.name} DELETE → ${node?.name}: ${shownStatus(response)}`);
    return status;
  }

  /** Status of a ping at one node; undefined without a conclusive response. */
  async pingAt(node: NodePlace): Promise<number | undefined> {
    const message = { jsonrpc: '2.0', id: ++this.#id, method: 'ping' };
    const { response } = await this.#fetch(this.#posting(message), node);
    if (!(response instanceof Response)) return undefined;
    const text = await response.text().catch(() => '');
    return text.includes('"process-ended"') ? undefined : response.status;
  }

  async #sendUntilTaken(message: object): Promise<number | undefined> {
    while (!this.#left.signal.aborted) {
      const { node, response } = await this.#send(message);
      const status = response instanceof Response ? response.status : undefined;
      this.#history.write(`${this.name} ${JSON.stringify(message)} → ${node?.name}: ${status}`);
      if (!(response instanceof Response)) {
        await delay(100);
        continue;
      }
      await response.text().catch(() => '');
      if (status !== 503) return status;
      await retryTime(response);
    }
    return undefined;
  }

  /** Reads the outcome of a request from its own stream and its resumptions. */
  async #read(id: number, response: Response | Error): Promise<Answer> {
    const before: Message[] = [];
    const lost = (text: string): Answer => ({ outcome: { kind: 'lost', text }, before });
    if (!(response instanceof Response)) return lost(response.message);
    let last: string | undefined;
    let current: Response | Error = response;
    for (let attempt = 0; attempt < tries; attempt++) {
      if (current instanceof Response && current.status >= 400) {
        const text = await current.text().catch(() => '');
        if (current.status !== 503 || last === undefined) {
          await retryTime(current);
          const { status } = current;
          return { outcome: { kind: 'refused', status, text }, before };
        }
        await retryTime(current);
      } else if (current instanceof Response) {
        const read = await this.#readStream(id, current, before);
        if ('outcome' in read) return { outcome: read.outcome, before };
        last = read.last ?? last;
        if (last === undefined) return lost(read.why);
      }
      if (last === undefined) break;
      this.#history.write(`${this.name} ${id} is resumed after ${last}`);
      ({ response: current } = await this.#get(last));
    }
    return lost('the stream could not be resumed');
  }

  async #readStream(
    id: number,
    response: Response,
    before: Message[],
  ): Promise<{ outcome: Outcome } | { last: string | undefined; why: string }> {
    const reader = new EventReader(response);
    let last: string | undefined;
    try {
      for (let event = await reader.next(); event; event = await reader.next()) {
        last = event.id ?? last;
        const message = event.data as Message | undefined;
        if (message === undefined) continue;
        const outcome = outcomeOf(id, message);
        if (outcome) return { outcome };
        before.push(message);
        this.#answer(message);
        if (last !== undefined && this.#chance.happens(0.05)) {
          await reader.leave();
          return { last, why: 'left' };
        }
      }
      return { last, why: 'the stream ended' };
    } catch (error) {
      return { last, why: String(error) };
    }
  }

  /** Follows the session's own stream across nodes until the end. */
  async #listen(): Promise<void> {
    let last: string | undefined;
    while (!this.#left.signal.aborted) {
      const { node, response } = await this.#get(last);
      const status = response instanceof Response ? response.status : undefined;
      this.#history.write(
        `${this.name} GET after ${last ?? 'nothing'} → ${node?.name}: ${shownStatus(response)}`,
      );
      if (status === 404) return;
      if (status === 405 || status === 400) {
        this.#history.accuse(`${this.name}: the stream after ${last} was refused with ${status}`);
        return;
      }
      if (response instanceof Response && status === 200) last = await this.#follow(response, last);
      else if (response instanceof Response) await retryTime(response);
    }
  }

  async #follow(response: Response, since: string | undefined): Promise<string | undefined> {
    const reader = new EventReader(response);
    let last = since;
    let retryMs = 100;
    try {
      for (let event: RawEvent | undefined; (event = await reader.next());) {
        last = event.id ?? last;
        this.#meet(event.id);
        if (event.retry !== undefined) retryMs = Number(event.retry);
        if (event.data === undefined) continue;
        const message = event.data as Message;
        this.#history.write(`${this.name} push ${event.id}: ${JSON.stringify(message)}`);
        this.#answer(message);
        this.#onPush(message);
      }
    } catch (error) {
      this.#history.write(`${this.name} GET broke: ${String(error)}`);
    }
    await delay(Math.min(retryMs, 1000), undefined, { signal: this.#left.signal }).catch(() => {});
    return last;
  }

  /** Stream names contain the owner's fencing token. */
  #meet(id = ''): void {
    const owner = /^(?:(\d+)_)?\d+-/.exec(id)?.[1] ?? 'the first';
    if (id === '' || owner === this.#owner) return;
    this.#owner = owner;
    this.owners++;
  }

  /** Answers the server's requests. */
  #answer({ id, method, params }: Message): void {
    if (id === undefined || method === undefined) return;
    const result =
      method === 'roots/list'
        ? { roots: [{ uri: `file:///v${this.rootsVersion}` }] }
        : { action: 'accept', content: { answer: String(params?.['message']) } };
    void this.#sendUntilTaken({ jsonrpc: '2.0', id, result });
  }

  #get(lastEventId: string | undefined) {
    const resume: { [name: string]: string } =
      lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
    const headers = { accept: 'text/event-stream', ...this.#headers, ...resume };
    return this.#fetch({ headers, signal: this.#left.signal });
  }

  #send(message: object) {
    return this.#fetch(this.#posting(message));
  }

  #posting(message: object): RequestInit {
    const headers = { ...postHeaders, ...this.#headers };
    const signal = AbortSignal.any([this.#left.signal, AbortSignal.timeout(2 * patienceMs)]);
    return { method: 'POST', headers, body: JSON.stringify(message), signal };
  }

  /** A stopped node cannot respond. */
  #judgeTime(
    node: NodePlace,
    { method = 'GET', body }: RequestInit,
    { began, beganAt }: { readonly began: number; readonly beganAt: number },
  ): void {
    const took = this.#history.now - began;
    if (took <= headMs || node.wasStopped(beganAt)) return;
    const what = `${this.name} ${method} ${typeof body === 'string' ? body.slice(0, 200) : ''}`;
    this.#history.accuse(`${what} had no response from ${node.name} for ${took.toFixed(0)} ms`);
  }

  /** Acts as a load balancer: skips nodes that refuse connections. */
  async #fetch(
    init: RequestInit,
    only?: NodePlace,
  ): Promise<{ node: NodePlace | undefined; response: Response | Error }> {
    let failed = new Error('no node takes connections');
    for (const node of only ? [only] : this.#chance.shuffled(this.#fleet.nodes)) {
      if (!node.url) continue;
      const [began, beganAt] = [this.#history.now, performance.now()];
      try {
        const response = await fetch(node.url, init);
        this.#judgeTime(node, init, { began, beganAt });
        return { node, response };
      } catch (error) {
        failed = error as Error;
        if ((failed.cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNREFUSED') continue;
        return { node, response: failed };
      }
    }
    await delay(100);
    return { node: undefined, response: failed };
  }
}

function outcomeOf(id: number, message: Message): Outcome | undefined {
  if (message.id !== id || message.method !== undefined) return undefined;
  const { result } = message;
  if (result && result['isError'] !== true) return { kind: 'result', result };
  if (result) return { kind: 'error', text: JSON.stringify(result['content']) };
  return { kind: 'error', text: JSON.stringify(message.error) };
}

const shownStatus = (response: Response | Error): string =>
  response instanceof Response ? String(response.status) : response.message;

/** Waits as long as a rejection specifies. */
async function retryTime({ headers }: Response): Promise<void> {
  const seconds = Number(headers.get('retry-after') ?? 0);
  await delay(Math.min(seconds * 1000, 2000));
}
