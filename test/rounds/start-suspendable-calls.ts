/** Rounds under test on their own: each request stands alone, as the router would run it. */
import type {
  RequestContext,
  RequestHandler,
  OutboundRequest,
} from '../../src/actors/request-context.ts';
import type { Fact } from '../../src/actors/facts.ts';
import { Quotas } from '../../src/actors/memory-budget.ts';
import { isJsonObject } from '../../src/protocol/classify.ts';
import { latestHandshake } from '../../src/protocol/dialects/registry.ts';
import type { JsonObject } from '../../src/protocol/frames.ts';
import { stateSealer } from '../../src/rounds/request-state.ts';
import { SuspendableCalls } from '../../src/rounds/suspendable-calls.ts';
import type { SuspendableCallsOptions } from '../../src/rounds/suspendable-calls.ts';
import { TestClock } from '../../packages/testing/src/clock.ts';
import { clientId } from '../actors/ids.ts';

export const accepted = (name: string): JsonObject => ({ action: 'accept', content: { name } });

/** A form's question to the client, which takes any name but the empty one. */
export function form(message: string): OutboundRequest {
  return {
    method: 'elicitation/create',
    params: { mode: 'form', message },
    timeoutMs: 600_000,
    maxTotalMs: 600_000,
    accepts: async ({ content }) =>
      isJsonObject(content) && content['name'] === '' ? 'must have a name' : undefined,
  };
}

/** The name in an answer that was accepted. */
export function nameIn(answer: JsonObject): string {
  return String((answer['content'] as JsonObject | undefined)?.['name']);
}

/** A result that asks. */
export interface Asking extends JsonObject {
  readonly resultType: 'input_required';
  readonly inputRequests: { readonly [key: string]: JsonObject };
  readonly requestState: string;
}

export interface Wired {
  readonly exchange: RequestContext;
  readonly result: Promise<JsonObject>;
  /** The client cancels the request. */
  cancel(): void;
  readonly said: JsonObject[];
}

export function startRounds(
  handler: RequestHandler,
  given: Partial<Omit<SuspendableCallsOptions, 'limits'>> & {
    limits?: Partial<SuspendableCallsOptions['limits']>;
  } = {},
) {
  const clock = (given.clock as TestClock | undefined) ?? new TestClock();
  const facts: Fact[] = [];
  let ids = 0;
  let requests = 0;
  const options: SuspendableCallsOptions = {
    clock,
    sealer: stateSealer('server'),
    quotas: new Quotas(),
    report: (fact) => void facts.push(fact),
    timeOfDay: () => clock.now(),
    randomId: () => `run-${++ids}`,
    resumption: 'keep',
    resolveRoots: () => undefined,
    onCallSettled: () => {},
    ...given,
    limits: {
      maxSuspendedCalls: 1024,
      suspendedCallTimeoutMs: 600_000,
      maxRounds: 100,
      maxPending: 1024,
      maxRequestStateBytes: 262_144,
      maxRetainedBytes: 1_000_000,
      ...given.limits,
    },
  };
  const rounds = new SuspendableCalls(options);

  /** Sends one request, on a connection of its own if it likes. */
  const send = (
    params: JsonObject = {},
    {
      method = 'tools/call',
      principal,
      capabilities = { elicitation: {}, roots: {} },
      to = rounds,
    }: {
      readonly method?: string;
      readonly principal?: string;
      readonly capabilities?: JsonObject;
      readonly to?: SuspendableCalls;
    } = {},
  ): Wired => {
    const controller = new AbortController();
    const ends: (() => void)[] = [];
    const said: JsonObject[] = [];
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
      for (const callback of ends.splice(0)) callback();
    };
    const exchange: RequestContext = {
      request: {
        id: clientId(++requests),
        method,
        size: JSON.stringify(params).length,
        params: { name: 'tool', arguments: {}, ...params },
        peer: {
          dialect: latestHandshake,
          requestedVersion: latestHandshake.version,
          info: { name: 'client', version: '1' },
          capabilities,
        },
        session: undefined,
        ...(principal === undefined ? {} : { origin: originOf(principal) }),
      },
      signal: controller.signal,
      task: undefined,
      get hasEnded() {
        return hasEnded;
      },
      context: undefined,
      checkpoint: undefined,
      machine: undefined,
      once: (_, make) => Promise.resolve(make({})),
      sendRequest: () => Promise.reject(new Error('nothing is asked over the wire')),
      notify: (name, body) => void said.push({ method: name, ...body }),
      announce: () => {},
      roots: () => Promise.reject(new Error('nothing is asked over the wire')),
      whenEnded: (callback) => void ends.push(callback),
      isWritable: true,
      whenWritable: (callback: () => void) => callback(),
      whenClosing: () => {},
      park: () => {},
      detach: () => () => {},
    };
    const run = async () => {
      const result = (await to.serve(handler, exchange)) as JsonObject;
      if (!hasEnded) end();
      return result;
    };
    return {
      exchange,
      result: run(),
      said,
      cancel: () => {
        controller.abort(new Error('The client cancelled the request'));
        end();
      },
    };
  };

  return {
    rounds,
    clock,
    facts,
    options,
    send,
    /** Sends a request that asks. */
    ask: async (params?: JsonObject, how?: Parameters<typeof send>[1]) =>
      (await send(params, how).result) as Asking,
    /** Sends the retry to a result that asked. */
    retry: (
      { requestState }: Pick<Asking, 'requestState'>,
      inputResponses: JsonObject = {},
      more: JsonObject = {},
      how?: Parameters<typeof send>[1],
    ) => send({ ...more, requestState, inputResponses }, how),
  };
}

function originOf(id: string): RequestContext['request']['origin'] {
  return { idScope: 'request', principal: { id, subject: id, scopes: [], claims: {} } };
}
