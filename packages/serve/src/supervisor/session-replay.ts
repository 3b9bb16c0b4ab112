/**
 * The state of a session that a new process has to be given: the host's handshake, its log level, its subscriptions.
 * Revisions without a handshake have none: each of their requests says all that it needs.
 */
import { Method } from '../../../../src/protocol/methods.ts';
import { replaced } from './lines.ts';
import { uriOf } from './host-requests.ts';
import type { ScannedMessage, Span } from './message-scan.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';

interface KeptRequest {
  readonly line: Buffer;
  readonly idSpan: Span;
}

/** The lists whose changes a server may announce, by the capability. */
const lists: readonly string[] = ['tools', 'prompts', 'resources'];

/** The beginning of the ids of repeated requests. */
const idStart = 'mcp-actors/repeated-';

export class SessionReplay {
  #initialize: KeptRequest | undefined = undefined;
  #initialized: Buffer | undefined = undefined;
  #level: KeptRequest | undefined = undefined;
  /** Requests by the URIs of their resources. */
  readonly #subscriptions = new Map<string, KeptRequest>();
  /** The lists that the host has asked for. */
  readonly #listed = new Set<string>();
  #version: unknown = undefined;
  #announced: readonly string[] = [];
  #repeated = 0;

  /** True once the server has answered `initialize`: any other process has to be sent it first. */
  get hasSession(): boolean {
    return this.#version !== undefined;
  }

  /** A request of the host that the server has answered with a result. */
  succeeded(line: Buffer, message: ScannedMessage, answer: Buffer): void {
    const { method = '', idSpan } = message;
    if (!idSpan) return;
    const request = { line, idSpan };
    switch (method) {
      case Method.initialize:
        this.#initialize = request;
        return this.#readInitialize(answer);
      case 'logging/setLevel':
        this.#level = request;
        return;
      case 'resources/subscribe': {
        const uri = uriOf(line, message);
        if (uri !== undefined) this.#subscriptions.set(uri, request);
        return;
      }
      case 'resources/unsubscribe': {
        const uri = uriOf(line, message);
        if (uri !== undefined) this.#subscriptions.delete(uri);
        return;
      }
      default: {
        const list = /^(\w+)\/list$/.exec(method)?.[1];
        if (list !== undefined && lists.includes(list)) this.#listed.add(list);
      }
    }
  }

  /** True for the methods whose requests {@link succeeded} needs. */
  concerns(method: string): boolean {
    return (
      method === Method.initialize ||
      method === 'logging/setLevel' ||
      method.startsWith('resources/') ||
      method.endsWith('/list')
    );
  }

  /** The host's `notifications/initialized`. */
  initialized(line: Buffer): void {
    this.#initialized = Buffer.from(line);
  }

  /** True for the id of a request that was repeated here: the host has its answer already. */
  isRepeated(id: string): boolean {
    return id.startsWith(`"${idStart}`);
  }

  /** The host's `initialize`, for a new process. */
  begin(): Buffer {
    return this.#again(this.#initialize as KeptRequest);
  }

  /**
   * The new process has answered `initialize`.
   *
   * @returns the lines that give it the rest of the state; a text that says why it cannot serve this session
   */
  restored(answer: Buffer): readonly Buffer[] | string {
    const before = this.#version;
    this.#readInitialize(answer);
    if (this.#version !== before) {
      const words = `${inspectValue(before)} before, ${inspectValue(this.#version)} now`;
      return `The restarted server has answered initialize differently: protocol ${words}`;
    }
    const rest = this.#initialized ? [this.#initialized] : [];
    const requests = [...(this.#level ? [this.#level] : []), ...this.#subscriptions.values()];
    return [...rest, ...requests.map((request) => this.#again(request))];
  }

  /** Notifications for the host of lists that may differ now. */
  changes(): readonly Buffer[] {
    return this.#announced
      .filter((list) => this.#listed.has(list))
      .map((list) => listChanged(`notifications/${list}/list_changed`));
  }

  #readInitialize(answer: Buffer): void {
    const { result } = JSON.parse(answer.toString()) as { readonly result?: JsonObject };
    this.#version = result?.['protocolVersion'] ?? 'none';
    const capabilities = result?.['capabilities'];
    this.#announced = lists.filter((list) => {
      const capability = isJsonObject(capabilities) ? capabilities[list] : undefined;
      return isJsonObject(capability) && capability['listChanged'] === true;
    });
  }

  #again({ line, idSpan }: KeptRequest): Buffer {
    return replaced(line, idSpan, `"${idStart}${++this.#repeated}"`);
  }
}

/** @param subscription the JSON text of the id of a `subscriptions/listen`, in whose name it is sent */
export function listChanged(method: string, subscription?: string): Buffer {
  const meta = `"_meta":{"io.modelcontextprotocol/subscriptionId":${subscription}}`;
  const params = subscription === undefined ? '' : `,"params":{${meta}}`;
  return Buffer.from(`{"jsonrpc":"2.0","method":"${method}"${params}}\n`);
}
