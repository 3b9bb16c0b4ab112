/**
 * Enforces the policies of a server's tools: offered tools, call rates per principal, and confirmation by a person. All
 * lists and calls of the server pass through here.
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

/** Policies, and the namespace of their patterns. */
export interface AppliedPolicies {
  readonly policies: ToolPolicies;
  /** Server name that prefixes tool names in patterns; undefined if patterns match a tool's own name. */
  readonly server: string | undefined;
  readonly uses: PatternUses;
}

/** Reports once the policy patterns that match no tool of any server. */
export class PatternUses {
  readonly #report: Report;
  readonly #unmatched: Set<string>;
  /** Servers that have not yet listed all their tools. */
  readonly #unlisted = new Set<string>();

  constructor(policies: ToolPolicies, report: Report) {
    this.#report = report;
    // A later tool may have an annotation that no tool has now.
    this.#unmatched = new Set(patternsOf(policies).filter((pattern) => !isAnnotation(pattern)));
  }

  /** Waits for the tools of another server. */
  expect(server: string): void {
    this.#unlisted.add(server);
  }

  /** @param isLast true if no further tools of the server follow */
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

/** Maximum number of patterns named in one log line. */
const maxNamedPatterns = 20;

export interface PolicyGuardOptions {
  /** Name of the server. */
  readonly name: string;
  /** A call must satisfy all of these. */
  readonly applied: readonly AppliedPolicies[];
  readonly clock: Clock;
  /** Shared counts of all nodes. */
  readonly counts: CallCounts | undefined;
  readonly report: Report;
}

/** The policies that apply to a call of a tool. */
interface Verdict {
  readonly asks: boolean;
  readonly rates: ReadonlyMap<string, Rate>;
}

/** Maximum length of a tool name in a counted call, because counts store the names. */
const maxCountedName = 512;
/** Maximum length of the arguments shown to a person, characters. */
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
  /** True if the policies depend only on tool names, not on annotations. */
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

  /** Restricts a server to the tools and calls that the policies allow. */
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
          // The request itself will fail with the reason.
          return false;
        }
      },
      request: async (method, params, context, asks) => {
        if (method !== 'tools/call') return server.request(method, params, context, asks);
        const verdict = this.#verdict(await calledTool(params));
        if (!verdict.asks && verdict.rates.size === 0) {
          return opened.request(method, params, context, asks);
        }
        // A counted or confirmed call must stay one call, so its questions are asked within it.
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
      const message = `Tool name must be at most ${maxCountedName} characters to be called with a rate limit, got ${tool.length}: ${shown}`;
      throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
    }
    const message = `Too many calls of ${shown}: try again in ${Math.ceil(wait / 1000)} s`;
    const more = { ...data, retryAfterMs: wait };
    throw new ProtocolError(ErrorCode.serverUnavailable, message, more);
  }

  /** Time until the rates allow the call, milliseconds. Shared counts are used only if this node's allow the call. */
  async #wait(principal: string, tool: string, rates: ReadonlyMap<string, Rate>): Promise<number> {
    const own = this.#rates.take(principal, rates);
    if (own > 0 || !this.#counts) return own;
    try {
      const wait = await this.#counts.take(JSON.stringify([this.#name, principal, tool]), rates);
      if (wait > 0) this.#rates.giveBack(principal, rates);
      return wait;
    } catch (error) {
      const message = `Shared call counts unavailable, counting ${printableName(tool)} on this node only: ${textOfError(error)}`;
      this.#report({ level: 'warning', name: 'bridge.counted-alone', message });
      return 0;
    }
  }

  /** Asks a person for confirmation. @returns the failure; undefined if the person allows the call */
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
        ? `The user declined this call of ${called}. Do not call it again unless they ask for it.`
        : `The user was asked to allow this call of ${called} and did not answer.`;
      return { code: isChosen ? 'DECLINED' : 'CANCELLED', message: why };
    } catch (error) {
      if (signal.aborted || !(error instanceof RuntimeError)) throw error;
      const { code, requiredCapabilities } = error;
      const message = `Calls of ${called} need the user's permission, which could not be requested: ${textOfError(error.message)}`;
      return new RuntimeError(code, message, { requiredCapabilities });
    }
  }
}

type Failure = Parameters<HandlerContext['client']['dialect']['toolFailure']>[0];

function questionOf(called: string, args: unknown = {}): string {
  const text = printable(printableJson(args), maxShownArguments);
  const digest = jsonDigest(numberText(args) ?? args);
  // One line: some hosts show only the first.
  return `Allow one call of ${called}? Arguments: ${text} (sha256 ${digest})`;
}

/** Names of a tool that patterns are compared with: the full name, and the listed one. */
const shownNames = ({ server }: AppliedPolicies, tool: string): readonly string[] =>
  server === undefined ? [tool] : [`${server}__${tool}`, mergedName({ server, tool })];

/** Creates a predicate: does a pattern match the tool? */
function fitting(applied: AppliedPolicies, name: string, tool: JsonObject) {
  const names = shownNames(applied, name);
  return (pattern: string): boolean => names.some((each) => fitsTool(pattern, each, tool));
}

const patternsOf = ({ allow = [], deny = [], ask = [], rate = {} }: ToolPolicies) => [
  ...[...allow, ...deny, ...ask],
  ...Object.keys(rate),
];
