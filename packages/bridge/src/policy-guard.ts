/**
 * The policies of a server's tools: which are offered, how often each principal may call them, and
 * before which calls a person is asked. Every list and every call of the server passes here.
 *
 * @see docs/maintaining/decisions/24-locks-and-policies.md
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { jsonDigest } from '../../client/src/hosts/servers-lock.ts';
import { mergedName } from '../../client/src/hosts/merged-names.ts';
import { fitsTool, isAnnotation, readRate } from '../../client/src/hosts/tool-policies.ts';
import type { Rate, ToolPolicies } from '../../client/src/hosts/tool-policies.ts';
import type { HandlerContext } from '../../../src/server/context/handler-context.ts';
import type { CallCounts } from '../../http/src/nodes/stores.ts';
import {
  ErrorCode,
  ProtocolError,
  RuntimeError,
  textOfError,
} from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { numberText } from '../../../src/protocol/number-text.ts';
import {
  printable,
  printableJson,
  printableName,
  quoted,
} from '../../../src/protocol/printable.ts';
import type { OpenedServer } from './bridged-server.ts';
import { CallRates } from './call-rates.ts';
import { withOffered } from './offered-tools.ts';
import type { HoldingBack } from './offered-tools.ts';

/** Policies, and the names that their patterns are of. */
export interface AppliedPolicies {
  readonly policies: ToolPolicies;
  /** The server whose name comes before those of its tools; undefined if patterns are of a tool's own name. */
  readonly server: string | undefined;
  readonly uses: PatternUses;
}

/** Reports, once, the patterns of policies that match no tool of any server. */
export class PatternUses {
  readonly #report: Report;
  readonly #unmatched: Set<string>;
  /** The servers that have not listed all their tools. */
  readonly #unlisted = new Set<string>();

  constructor(policies: ToolPolicies, report: Report) {
    this.#report = report;
    // An annotation that no tool has now may be that of a later one.
    this.#unmatched = new Set(patternsOf(policies).filter((pattern) => !isAnnotation(pattern)));
  }

  /** Waits for the tools of one more server. */
  expect(server: string): void {
    this.#unlisted.add(server);
  }

  /** @param isLast whether no further tools of the server follow */
  listed(server: string, names: readonly string[], isLast: boolean): void {
    for (const pattern of this.#unmatched) {
      if (names.some((name) => fitsTool(pattern, name, undefined))) this.#unmatched.delete(pattern);
    }
    if (isLast) this.#unlisted.delete(server);
    if (this.#unlisted.size > 0 || this.#unmatched.size === 0) return;
    const patterns = [...this.#unmatched].slice(0, maxNamedPatterns).map((each) => quoted(each));
    this.#unmatched.clear();
    const message = `No tool matches the policy pattern ${patterns.join(', ')}`;
    this.#report({ level: 'warning', name: 'bridge.pattern-unmatched', message });
  }
}

/** How many patterns one line of the log names. */
const maxNamedPatterns = 20;

export interface PolicyGuardOptions {
  /** The server. */
  readonly name: string;
  /** All of them hold. */
  readonly applied: readonly AppliedPolicies[];
  readonly clock: Clock;
  /** Counts for all nodes. */
  readonly counts: CallCounts | undefined;
  readonly report: Report;
}

/** What a policy says of a tool. */
interface Verdict {
  readonly asks: boolean;
  readonly rates: ReadonlyMap<string, Rate>;
}

/** A call with a longer name is refused, because names are kept with the counts of calls. */
const maxCountedName = 512;
/** How much of the arguments a person is shown. */
const maxShownArguments = 2000;

const whatIsAsked = {
  type: 'object',
  properties: {
    allow: {
      type: 'boolean',
      title: 'Allow this call',
      description: 'Once, with these arguments.',
    },
  },
  required: ['allow'],
} as const;

export class PolicyGuard {
  readonly #name: string;
  readonly #applied: readonly AppliedPolicies[];
  readonly #rates: CallRates;
  readonly #counts: CallCounts | undefined;
  readonly #report: Report;
  /** Whether what a tool is called is all that the policies look at. */
  readonly #byName: boolean;

  constructor({ name, applied, clock, counts, report }: PolicyGuardOptions) {
    this.#name = name;
    this.#applied = applied;
    this.#rates = new CallRates(clock);
    this.#counts = counts;
    this.#report = report;
    this.#byName = !applied.some(({ policies }) => patternsOf(policies).some(isAnnotation));
    for (const { uses } of applied) uses.expect(name);
  }

  /** The server, with the tools and the calls that the policies allow. */
  over(opened: OpenedServer): OpenedServer {
    const among: HoldingBack['among'] = (tools, part) => {
      this.#noteUses(tools, part !== 'other');
      return this.#held(tools);
    };
    const { server, calledTool } = withOffered(opened, { among, byName: this.#byName });
    return {
      ...server,
      mayRequireInput: async (method, params) => {
        if (!(await opened.mayRequireInput(method, params))) return false;
        if (method !== 'tools/call') return true;
        try {
          const { asks, rates } = this.#verdict(await calledTool(params));
          return !asks && rates.size === 0;
        } catch {
          // The request itself says why it cannot be answered.
          return false;
        }
      },
      request: async (method, params, context, asks) => {
        if (method !== 'tools/call') return server.request(method, params, context, asks);
        const verdict = this.#verdict(await calledTool(params));
        if (!verdict.asks && verdict.rates.size === 0) {
          return opened.request(method, params, context, asks);
        }
        // A call that was counted, or allowed by a person, is one call, whatever it asks.
        const go = () => opened.request(method, params, context, 'inCall');
        return this.#policed(params ?? {}, context, verdict, go);
      },
    };
  }

  #noteUses(tools: readonly JsonObject[], isLast: boolean): void {
    for (const applied of this.#applied) {
      const names = tools.flatMap((tool) => shownNames(applied, String(tool['name'])));
      applied.uses.listed(this.#name, names, isLast);
    }
  }

  #held(tools: readonly JsonObject[]): ReadonlyMap<string, string> {
    const names = tools.map((tool) => [String(tool['name']), tool] as const);
    const denied = names.filter(
      ([name, tool]) =>
        !this.#applied.every((applied) => {
          const fits = fitting(applied, name, tool);
          const { allow, deny = [] } = applied.policies;
          return (allow === undefined || allow.some(fits)) && !deny.some(fits);
        }),
    );
    return new Map(denied.map(([name]) => [name, 'denied by a policy']));
  }

  #verdict(tool: JsonObject): Verdict {
    const rates = new Map<string, Rate>();
    let asks = false;
    const name = String(tool['name']);
    for (const applied of this.#applied) {
      const { policies, server } = applied;
      const fits = fitting(applied, name, tool);
      asks ||= policies.ask?.some(fits) === true;
      for (const [pattern, text] of Object.entries(policies.rate ?? {})) {
        const rate = fits(pattern) ? readRate(text) : undefined;
        if (rate)
          rates.set(`${server === undefined ? '' : `${server}__`}${pattern}\n${name}`, rate);
      }
    }
    return { asks, rates };
  }

  async #policed(
    params: JsonObject,
    context: HandlerContext,
    { asks, rates }: Verdict,
    go: () => JsonObject | Promise<JsonObject>,
  ): Promise<JsonObject> {
    const tool = String(params['name']);
    if (rates.size > 0) await this.#count(tool, context, rates);
    const refused = asks ? await this.#refusal(tool, params, context) : undefined;
    return refused ? context.client.dialect.toolFailure(refused) : await go();
  }

  /** @throws {ProtocolError} -32000: the rate does not allow the call */
  async #count(
    tool: string,
    { principal }: HandlerContext,
    rates: ReadonlyMap<string, Rate>,
  ): Promise<void> {
    const isTooLong = tool.length > maxCountedName;
    const wait = isTooLong ? Infinity : await this.#wait(principal?.id ?? '', tool, rates);
    if (wait === 0) return;
    const server = this.#name;
    const shown = `${printableName(tool)} of ${printableName(server)}`;
    const data = { reason: 'rate-limited', server, retryable: !isTooLong };
    if (isTooLong) {
      const message = `A call of ${shown} is refused: its name is longer than ${maxCountedName} characters`;
      throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
    }
    const message = `Too many calls of ${shown}: try again in ${Math.ceil(wait / 1000)} s`;
    const more = { ...data, retryAfterMs: wait };
    throw new ProtocolError(ErrorCode.serverUnavailable, message, more);
  }

  /** How long until the rates allow the call, milliseconds. What this node has counted, all of them have. */
  async #wait(principal: string, tool: string, rates: ReadonlyMap<string, Rate>): Promise<number> {
    const own = this.#rates.take(principal, rates);
    if (own > 0 || !this.#counts) return own;
    try {
      const wait = await this.#counts.take(JSON.stringify([this.#name, principal, tool]), rates);
      if (wait > 0) this.#rates.giveBack(principal, rates);
      return wait;
    } catch (error) {
      const message = `The calls of ${printableName(tool)} are counted by this node alone: ${textOfError(error)}`;
      this.#report({ level: 'warning', name: 'bridge.counted-alone', message });
      return 0;
    }
  }

  /** Asks a person. @returns why the call is not made; undefined if they allow it */
  async #refusal(
    tool: string,
    params: JsonObject,
    context: HandlerContext,
  ): Promise<Failure | undefined> {
    const called = `${printableName(tool)} of ${printableName(this.#name)}`;
    const { signal } = context;
    try {
      const message = questionOf(called, params['arguments']);
      const schema = whatIsAsked;
      const answer = await context.elicit({ message, schema }, { signal, key: 'allow' });
      if (answer.action === 'accept' && answer.content.allow) return undefined;
      const isChosen = answer.action !== 'cancel';
      const why = isChosen
        ? `A person was asked, and does not allow this call of ${called}. Do not call it again unless they say so.`
        : `A person was asked about this call of ${called}, and has not answered.`;
      return { code: isChosen ? 'DECLINED' : 'CANCELLED', message: why };
    } catch (error) {
      if (signal.aborted || !(error instanceof RuntimeError)) throw error;
      const { code, requiredCapabilities } = error;
      const message = `A person must allow each call of ${called}, and could not be asked: ${textOfError(error.message)}`;
      return new RuntimeError(code, message, { requiredCapabilities });
    }
  }
}

type Failure = Parameters<HandlerContext['client']['dialect']['toolFailure']>[0];

function questionOf(called: string, args: unknown = {}): string {
  const text = printable(printableJson(args), maxShownArguments);
  const digest = jsonDigest(numberText(args) ?? args);
  // One line: some hosts show no others.
  return `Allow one call of ${called}? Its arguments are ${text} (sha256 ${digest})`;
}

/** The names of a tool that patterns are compared with: as it is spelt out, and as it is listed. */
const shownNames = ({ server }: AppliedPolicies, tool: string): readonly string[] =>
  server === undefined ? [tool] : [`${server}__${tool}`, mergedName({ server, tool })];

/** Whether a pattern matches the tool. */
function fitting(applied: AppliedPolicies, name: string, tool: JsonObject) {
  const names = shownNames(applied, name);
  return (pattern: string): boolean => names.some((each) => fitsTool(pattern, each, tool));
}

const patternsOf = ({ allow = [], deny = [], ask = [], rate = {} }: ToolPolicies) => [
  ...[...allow, ...deny, ...ask],
  ...Object.keys(rate),
];
