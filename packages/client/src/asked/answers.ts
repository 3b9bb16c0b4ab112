/**
 * Answers the server's requests to the host with the host's providers: requests from the server,
 * and input requests in the result of a call.
 *
 * If a provider throws, the server gets `-32603` without details, and the host gets a report with
 * the error.
 *
 * @see MCP 2025-11-25, client/roots, client/sampling, client/elicitation
 */
import { anyMethod } from '../../../../src/actors/request-context.ts';
import type { RequestHandler } from '../../../../src/actors/request-context.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import { BoundedMap } from '../../../../src/protocol/bounded-map.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import {
  ErrorCode,
  ProtocolError,
  invalidParams,
  textOfError,
} from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { omit } from '../../../../src/protocol/dialects/members.ts';
import { validateAnswer } from '../../../../src/protocol/input-required.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import { validateToolUses } from '../../../../src/protocol/tool-uses.ts';
import { validateForm, formAnswer } from './form-answer.ts';
import type {
  Asked,
  ElicitProvider,
  FormProvider,
  FormRequest,
  Providers,
  ProvidedRoot,
  RawAnswer,
  RootsProvider,
  SampleProvider,
  SampleRequest,
  UrlProvider,
  UrlToOpen,
} from './providers.ts';

/** Callbacks for incoming requests of a server. */
export interface AnswersHost {
  readonly report: Report<'provider.failed'>;
  /** A request arrived. */
  asked(method: string, params: JsonObject | undefined): void;
  /** The server cancelled the request, or can no longer receive the answer. */
  withdrawn(method: string): void;
}

type Answer = (params: JsonObject, asked: Asked) => Promise<JsonObject>;

/** Maximum number of opened URLs that await their completion notification. */
const maxOpenUrls = 1024;

export class Answers {
  readonly #host: AnswersHost;
  readonly #given: JsonObject;
  readonly #raw: RawAnswer | undefined;
  readonly #sample: SampleProvider | undefined;
  readonly #form: FormProvider | undefined;
  readonly #url: UrlProvider | undefined;
  #roots: RootsProvider | undefined;
  /** Resolvers of the `completed` promises of open URLs, by elicitation id. */
  #open: BoundedMap<string, () => void> | undefined = undefined;

  /**
   * @param given additional capabilities of the host
   * @throws {TypeError} a provider or a root is invalid, or a capability has no provider
   */
  constructor(providers: Providers, host: AnswersHost, given: JsonObject = {}) {
    const { roots, sample, elicit, onRequest } = providers;
    const { form, url } = elicitationsOf(elicit);
    this.#host = host;
    this.#given = given;
    this.#raw = checked('onRequest', onRequest);
    this.#roots = checkedRoots(roots);
    this.#sample = checked('sample', sample);
    this.#form = checked('elicit', form);
    this.#url = checked('elicit.url', url);
    for (const name of ['roots', 'sampling', 'elicitation']) {
      if (this.#raw || given[name] === undefined || this.#own('told')[name] !== undefined) continue;
      throw new TypeError(
        `The capability "${name}" is declared but has no provider: add one, or remove the capability`,
      );
    }
  }

  /** True if `onRequest` answers everything and `capabilities` are declared verbatim. */
  get isRaw(): boolean {
    return this.#raw !== undefined;
  }

  /**
   * Capabilities to declare to the server.
   *
   * @param changes whether the server is notified when the roots change; since 2026-07-28 it never
   *   is
   */
  capabilities(changes: 'told' | 'untold'): JsonObject {
    if (this.#raw) return changes === 'told' ? this.#given : untoldCapabilities(this.#given);
    const merged: Record<string, unknown> = { ...this.#given };
    for (const [name, own] of Object.entries(this.#own(changes))) {
      merged[name] = { ...own, ...(merged[name] as JsonObject | undefined) };
    }
    return merged;
  }

  /** Handlers of the requests that a server may send. */
  get handlers(): ReadonlyMap<string, RequestHandler> {
    const raw = this.#raw;
    if (raw) {
      return new Map([[anyMethod, (params, call) => raw(call.request.method, params, call)]]);
    }
    const methods = [Method.rootsList, Method.createMessage, Method.elicit];
    const offered = methods.filter((method) => this.#answerOf(method));
    return new Map(
      offered.map((method) => [
        method,
        (params, { signal }) => this.answer(method, params, signal),
      ]),
    );
  }

  /**
   * Answers one request.
   *
   * @param signal fires if the server cancels the request, or can no longer receive the answer
   * @throws {ProtocolError} the error to answer with instead
   */
  async answer(
    method: string,
    params: JsonObject | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const answer = this.#answerOf(method);
    if (!answer) {
      throw new ProtocolError(
        ErrorCode.methodNotFound,
        `The host does not implement ${inspectValue(method)}`,
      );
    }
    const withdraw = (): void => this.#host.withdrawn(method);
    this.#host.asked(method, params);
    signal.addEventListener('abort', withdraw);
    try {
      return await answer(params ?? {}, { signal });
    } catch (error) {
      throw error instanceof ProtocolError ? error : this.#failed(method, error, signal);
    } finally {
      signal.removeEventListener('abort', withdraw);
    }
  }

  /**
   * Replaces the roots. @returns false if the host declared no roots, so that the server must not
   * be notified
   */
  setRoots(roots: RootsProvider): boolean {
    const given = checkedRoots(roots);
    if (this.#roots === undefined) return false;
    this.#roots = given;
    return true;
  }

  /** Handles `notifications/elicitation/complete`. Unknown ids are ignored. */
  completed(params: JsonObject | undefined): void {
    const id = params?.['elicitationId'] as string;
    const resolve = this.#open?.get(id);
    this.#open?.delete(id);
    resolve?.();
  }

  #own(changes: 'told' | 'untold'): { readonly [name: string]: JsonObject } {
    const modes = { ...(this.#form ? { form: {} } : {}), ...(this.#url ? { url: {} } : {}) };
    return {
      ...(this.#roots ? { roots: changes === 'told' ? { listChanged: true } : {} } : {}),
      ...(this.#sample ? { sampling: {} } : {}),
      ...(this.#form || this.#url ? { elicitation: modes } : {}),
    };
  }

  #answerOf(method: string): Answer | undefined {
    const [roots, sample, form, url] = [this.#roots, this.#sample, this.#form, this.#url];
    switch (method) {
      case Method.rootsList:
        return roots && (() => this.#listRoots(roots));
      case Method.createMessage:
        return sample && ((params, asked) => this.#continue(sample, params, asked));
      case Method.elicit:
        if (!form && !url) return undefined;
        return (params, asked) =>
          params['mode'] === 'url'
            ? this.#openUrl(url, params, asked)
            : fillIn(form, params, asked);
      default:
        return undefined;
    }
  }

  async #listRoots(provider: RootsProvider): Promise<JsonObject> {
    const roots = typeof provider === 'function' ? await provider() : provider;
    return { roots: listOfRoots(roots) };
  }

  async #continue(sample: SampleProvider, params: JsonObject, asked: Asked): Promise<JsonObject> {
    const { messages, tools, toolChoice } = params;
    if (!Array.isArray(messages)) {
      throw invalidParams(`"messages" must be an array, got ${inspectValue(messages)}`);
    }
    const { sampling } = this.capabilities('told');
    const mayUseTools = isJsonObject(sampling) && sampling['tools'] !== undefined;
    if (!mayUseTools && (tools !== undefined || toolChoice !== undefined)) {
      throw invalidParams('the host has not declared "sampling.tools"');
    }
    const fault = validateToolUses(messages);
    if (fault !== undefined) throw invalidParams(fault);
    return checkedAnswer(Method.createMessage, await sample(params as SampleRequest, asked));
  }

  async #openUrl(
    provider: UrlProvider | undefined,
    params: JsonObject,
    { signal }: Asked,
  ): Promise<JsonObject> {
    if (!provider) throw invalidParams('the host has not declared "elicitation.url"');
    const { message, url, elicitationId: id } = params;
    if (typeof message !== 'string') {
      throw invalidParams(`"message" must be a string, got ${inspectValue(message)}`);
    }
    // The host will open the URL, so only web URLs are allowed.
    if (
      typeof url !== 'string' ||
      !/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : '')
    ) {
      throw invalidParams(`"url" must be an absolute http or https URL, got ${inspectValue(url)}`);
    }
    const completed = new Promise<void>((resolve) => {
      if (typeof id === 'string') (this.#open ??= new BoundedMap(maxOpenUrls)).set(id, resolve);
    });
    const action = await provider(params as UrlToOpen, { signal, completed });
    if (action !== 'accept') this.#open?.delete(id as string);
    return checkedAnswer(Method.elicit, { action });
  }

  #failed(method: string, error: unknown, signal: AbortSignal): ProtocolError {
    // A provider whose signal was aborted is expected to fail.
    const level = signal.aborted ? 'debug' : 'error';
    const message = `The host could not answer ${method}: ${textOfError(error)}`;
    this.#host.report({ level, name: 'provider.failed', message, details: { method, error } });
    return new ProtocolError(ErrorCode.internalError, 'Internal error');
  }
}

async function fillIn(
  provider: FormProvider | undefined,
  params: JsonObject,
  asked: Asked,
): Promise<JsonObject> {
  const { mode = 'form' } = params;
  if (mode !== 'form')
    throw invalidParams(`"mode" must be "form" or "url", got ${inspectValue(mode)}`);
  if (!provider) throw invalidParams('the host has not declared "elicitation.form"');
  const fault = validateForm(params);
  if (fault !== undefined) throw invalidParams(fault);
  const form = params as FormRequest;
  return formAnswer(form.requestedSchema, await provider(form, asked));
}

/** Legacy capabilities without those that later revisions express differently. */
export function untoldCapabilities(given: JsonObject): JsonObject {
  const capabilities = omit(given, 'tasks');
  return isJsonObject(capabilities['roots']) ? { ...capabilities, roots: {} } : capabilities;
}

function checkedAnswer(method: string, answer: unknown): JsonObject {
  const fault = validateAnswer(method, answer);
  if (fault !== undefined) throw new TypeError(`The answer ${fault}`);
  return answer as JsonObject;
}

function elicitationsOf(elicit: ElicitProvider | undefined): {
  readonly form?: FormProvider | undefined;
  readonly url?: UrlProvider | undefined;
} {
  return typeof elicit === 'object' ? elicit : { form: elicit };
}

/** @throws {TypeError} */
function checked<T>(name: string, provider: T | undefined): T | undefined {
  if (provider === undefined || typeof provider === 'function') return provider;
  throw new TypeError(`"${name}" must be a function, got ${inspectValue(provider)}`);
}

/** @throws {TypeError} */
function checkedRoots(roots: RootsProvider | undefined): RootsProvider | undefined {
  return roots === undefined || typeof roots === 'function' ? roots : listOfRoots(roots);
}

/** @throws {TypeError} the first invalid root, by index */
function listOfRoots(roots: unknown): readonly ProvidedRoot[] {
  if (!Array.isArray(roots)) {
    throw new TypeError(`"roots" must be an array, got ${inspectValue(roots)}`);
  }
  return (roots as readonly unknown[]).map((root, at) => {
    const { uri, name } = isJsonObject(root) ? root : {};
    if (typeof uri !== 'string' || !/^file:\/\//i.test(uri) || !URL.canParse(uri)) {
      throw new TypeError(`roots[${at}] must have a file:// "uri", got ${inspectValue(uri)}`);
    }
    if (name === undefined || typeof name === 'string') return root as ProvidedRoot;
    throw new TypeError(`roots[${at}].name must be a string, got ${inspectValue(name)}`);
  });
}
