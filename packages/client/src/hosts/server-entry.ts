/** Parses one entry of an `mcpServers` file into settings. */
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { closestMatch } from '../../../../src/protocol/suggestions.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import { bridgedLogin } from './bridged-login.ts';
import type { BridgedLogin } from './bridged-login.ts';
import { shownEntry } from './config-problem.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { CommandEntry, UrlEntry } from '../connection/options.ts';
import {
  isRestartValue,
  processRestart,
  restartFields,
  restartPolicyWith,
  restartWords,
} from '../channel/restart-option.ts';
import type { Era } from '../connection/connection-context.ts';
import type { RestartOption } from '../channel/restart-option.ts';
import { isAnnotation, isPattern, patternWords, rateWords, readRate } from './tool-policies.ts';
import type { ToolFilter, ToolPolicies } from './tool-policies.ts';
import { expand } from './variables.ts';
import type { EnvironmentVariables } from './variables.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';

/** Settings of a server. */
export interface ServerSettings {
  readonly entry: CommandEntry | UrlEntry;
  /** Request timeout, ms. */
  readonly timeoutMs?: number;
  readonly restart?: RestartOption;
  /** Era of the server; detected if undefined. */
  readonly era?: Era;
  /** True if the server starts at its first use. */
  readonly lazy: boolean;
  /** Idle time after which the server is stopped, ms; undefined: never. */
  readonly idleMs?: number;
  readonly tools: ToolFilter;
  /** Settings for a bridge: process sharing and retries. */
  readonly bridging: BridgingSettings;
  /** Keys of other hosts, unparsed. */
  readonly others: JsonObject;
}

/** Settings used only by a bridge; see `BridgeOptions`. */
export interface BridgingSettings {
  readonly share?: 'session' | 'shared' | 'pool';
  readonly poolSize?: number;
  readonly maxProcesses?: number;
  readonly processIdleMs?: number;
  readonly retry?: 'never' | 'reads';
  readonly policies?: ToolPolicies;
  readonly auth?: BridgedLogin;
}

/** A server of a configuration. */
export type HostedServer =
  | { readonly kind: 'enabled'; readonly settings: ServerSettings }
  /** The rest of its entry is not validated. */
  | { readonly kind: 'disabled' }
  /** The entry is unusable. */
  | { readonly kind: 'invalid'; readonly faults: readonly ConfigProblem[] };

/** A server, with remarks for the author of its entry. */
export interface ReadServer {
  readonly server: HostedServer;
  readonly remarks: readonly ConfigProblem[];
}

const types = ['stdio', 'http', 'streamable-http', 'sse'];
const eras = ['auto', 'legacy', 'modern'];
const sharings = ['session', 'shared', 'pool'];
const retries = ['never', 'reads'];

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** Accepted values of a key, or of each element of a list or object. */
interface Shape {
  readonly allowed: string;
  takes?(value: unknown): boolean;
  readonly each?: {
    readonly of: 'list' | 'object';
    readonly allowed: string;
    takes(value: unknown, name: string): boolean;
  };
}

const texts: Shape = {
  allowed: 'a list of strings',
  each: { of: 'list', allowed: 'a string', takes: (value) => typeof value === 'string' },
};
const time: Shape = {
  allowed: `a whole number of milliseconds, from 1 to ${maxDelayMs}`,
  takes: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= maxDelayMs,
};
const quantity: Shape = {
  allowed: 'a whole number from 1 on',
  takes: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
};
const oneOf = (words: readonly string[]): Shape => ({
  allowed: `one of ${words.join(', ')}`,
  takes: (value) => words.some((each) => each === value),
});
const flag: Shape = { allowed: 'true or false', takes: (value) => typeof value === 'boolean' };

const shapes: { readonly [key: string]: Shape } = {
  type: oneOf(types),
  command: { allowed: 'the name or path of a program', takes: isText },
  args: texts,
  env: {
    allowed: 'an object of strings',
    each: {
      of: 'object',
      allowed:
        'a string; put numbers into quotation marks. A name has neither = nor NUL, a value no NUL',
      takes: (value, name) =>
        typeof value === 'string' && !/^$|[=\0]/.test(name) && !value.includes('\0'),
    },
  },
  cwd: { allowed: 'the path of a directory', takes: isText },
  url: {
    allowed: 'a URL that begins with http:// or https://',
    takes: (value) => isText(value) && URL.canParse(value) && /^https?:/i.test(value),
  },
  headers: {
    allowed: 'an object of strings',
    each: {
      of: 'object',
      allowed: 'a string of one line in Latin-1, under a name of letters, digits and hyphens',
      takes: (value, name) =>
        typeof value === 'string' &&
        /^[!#$%&'*+.^_`|~\w-]+$/.test(name) &&
        /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
    },
  },
  era: oneOf(eras),
  disabled: flag,
  enabled: flag,
  timeoutMs: time,
  lazy: flag,
  idleMs: time,
  share: oneOf(sharings),
  poolSize: quantity,
  maxProcesses: quantity,
  processIdleMs: time,
  retry: oneOf(retries),
};

/** Keys for launched servers only. */
const ofLaunched = ['args', 'env', 'cwd', 'share', 'poolSize', 'maxProcesses'];

const oauthShapes: { readonly [key: string]: Shape } = {
  clientId: { allowed: 'the id of a registered client', takes: isText },
  clientSecret: { allowed: 'the secret of a registered client', takes: isText },
  clientMetadataUrl: {
    allowed: 'an https:// URL with a path',
    takes: (value) => isText(value) && URL.canParse(value) && /^https:\/\/[^/]+\/./i.test(value),
  },
  callbackPort: {
    allowed: 'a port, from 1 to 65535',
    takes: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535,
  },
};

const names: Shape = {
  allowed: 'a list of strings',
  each: {
    of: 'list',
    allowed: 'the name of a tool; annotations stand in "policies"',
    takes: (value) => typeof value === 'string' && !isAnnotation(value),
  },
};
const toolShapes: { readonly [key: string]: Shape } = { allow: names, deny: names };

const patterns: Shape = {
  allowed: 'a list of strings',
  each: { of: 'list', allowed: patternWords, takes: isPattern },
};
const policyShapes: { readonly [key: string]: Shape } = {
  allow: patterns,
  deny: patterns,
  ask: patterns,
  rate: {
    allowed: 'an object of rates',
    each: {
      of: 'object',
      allowed: `${rateWords}, under ${patternWords}`,
      takes: (value, name) => isPattern(name) && readRate(value) !== undefined,
    },
  },
};

const restartShapes: { readonly [key: string]: Shape } = Object.fromEntries(
  restartFields.map((field) => [
    field,
    { allowed: restartWords(field), takes: (value) => isRestartValue(field, value) },
  ]),
);

/**
 * Keys of other hosts: VS Code, Claude Code, Cursor, Cline, Windsurf, Gemini CLI, Codex, LibreChat.
 */
const keysOfOthers = new Set(
  `alwaysAllow alwaysLoad auth authProviderType autoApprove description dev disabledTools displayName
  envFile env_file excludeTools gallery headersHelper httpUrl icon includeTools initTimeout
  instructions name sandbox sandboxEnabled scopes serverInstructions serverUrl startup timeout
  title trust version watchPaths`.split(/\s+/),
);

/** Reports a fault of a key within the entry. */
type Tell = (key: string | undefined, message: string) => void;

/**
 * Parses one entry, and finds all of its faults at once.
 *
 * @param place the file and the server to name in faults
 */
export function readServer(
  written: unknown,
  place: Pick<ConfigProblem, 'file' | 'server'>,
  environment: EnvironmentVariables,
): ReadServer {
  const faults: ConfigProblem[] = [];
  const remarks: ConfigProblem[] = [];
  const tell: Tell = (key, message) => faults.push({ ...place, key, message });
  if (!isJsonObject(written)) {
    tell(undefined, `${shownEntry('', written)} is not an object with a "command" or a "url"`);
    return { server: { kind: 'invalid', faults }, remarks };
  }
  if (written['disabled'] === true || written['enabled'] === false)
    return { server: { kind: 'disabled' }, remarks };
  const entry = expanded(written, '', environment, tell) as JsonObject;
  const { restart, tools, policies, oauth, ...plain } = entry;
  const auth = bridgedLogin(plain['auth'], tell);
  if (auth && plain['url'] === undefined) {
    tell('auth', 'it has no meaning for a server with a "command"');
  }
  checkKeys(plain, shapes, '', tell);
  checkKind(plain, tell);
  checkLogin(oauth, plain, tell, (key, message) => remarks.push({ ...place, key, message }));
  if (tools !== undefined) checkObject(tools, toolShapes, 'tools', tell);
  if (policies !== undefined) checkObject(policies, policyShapes, 'policies', tell);
  if (!isWord(restart)) checkRestart(restart, tell);
  const others = Object.entries(plain).filter(([key]) => !Object.hasOwn(shapes, key));
  for (const [key] of others.filter(([key]) => !keysOfOthers.has(key))) {
    const near = closestMatch(key, [...Object.keys(shapes), 'restart', 'tools', 'policies']);
    const meant = near === undefined ? '' : `. Did you mean ${near}?`;
    remarks.push({ ...place, key, message: `this key is not known, and has no effect${meant}` });
  }
  if (faults.length > 0) return { server: { kind: 'invalid', faults }, remarks };
  const unread = Object.fromEntries(others.filter(([key]) => key !== 'auth' || !auth));
  const settings = settingsOf({ ...entry, auth }, unread);
  return { server: { kind: 'enabled', settings }, remarks };
}

/** A copy with variables expanded in values, but not in keys. */
function expanded(
  value: unknown,
  key: string,
  environment: EnvironmentVariables,
  tell: Tell,
): unknown {
  if (typeof value === 'string') {
    const expansion = expand(value, environment);
    if (expansion.ok) return expansion.text;
    tell(key, expansion.problem);
    return value;
  }
  if (Array.isArray(value)) {
    return value.map((each, at) => expanded(each, `${key}[${at}]`, environment, tell));
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const inside = key === '' ? name : `${key}.${name}`;
      return [name, expanded(each, inside, environment, tell)];
    }),
  );
}

/** Faults of policies given in code, one line each. */
export function faultsOfPolicies(policies: unknown): readonly string[] {
  const faults: string[] = [];
  const tell: Tell = (key, message) => faults.push(`${key}: ${message}`);
  checkObject(policies, policyShapes, 'policies', tell);
  return faults;
}

const isWord = (restart: unknown): boolean =>
  restart === undefined || typeof restart === 'boolean' || restart === 'none';

/** Checks each field, then their combination. */
function checkRestart(restart: unknown, tell: Tell): void {
  let faults = 0;
  checkObject(restart, restartShapes, 'restart', (key, message) => {
    faults++;
    tell(key, message);
  });
  if (faults > 0) return;
  try {
    // Servers over HTTP accept the same delays.
    restartPolicyWith(restart as RestartOption, processRestart);
  } catch (error) {
    tell('restart', (error as RangeError).message);
  }
}

/**
 * Checks an object member. Unknown keys are faults: a filter or limit without effect would be
 * dangerous.
 */
function checkObject(
  value: unknown,
  table: { readonly [key: string]: Shape },
  key: string,
  tell: Tell,
): void {
  const keys = Object.keys(table).join(', ');
  const allowed = `an object with any of ${keys}${key === 'restart' ? ', or true, false or "none"' : ''}`;
  if (!isJsonObject(value)) {
    tell(key, `${shownEntry(key, value)} is not ${allowed}`);
    return;
  }
  for (const name of Object.keys(value).filter((each) => !Object.hasOwn(table, each))) {
    tell(`${key}.${name}`, `there is no such key: there are ${keys}`);
  }
  checkKeys(value, table, `${key}.`, tell);
}

function checkKeys(
  object: JsonObject,
  table: { readonly [key: string]: Shape },
  prefix: string,
  tell: Tell,
): void {
  for (const [name, { allowed, takes, each }] of Object.entries(table)) {
    const value = object[name];
    if (value === undefined) continue;
    const key = prefix + name;
    if (each === undefined) {
      if (takes?.(value) !== true) tell(key, `${shownEntry(key, value)} is not ${allowed}`);
    } else if (each.of === 'list' ? !Array.isArray(value) : !isJsonObject(value)) {
      tell(key, `${shownEntry('', value)} is not ${allowed}`);
    } else {
      for (const [at, element] of Object.entries(value as object)) {
        const inside = each.of === 'list' ? `${key}[${at}]` : `${key}.${at}`;
        if (!each.takes(element, at))
          tell(inside, `${shownEntry(inside, element)} is not ${each.allowed}`);
      }
    }
  }
}

/** Checks `oauth`. Hosts use different keys here; unknown ones have no effect and get a remark. */
function checkLogin(oauth: unknown, { url }: JsonObject, tell: Tell, remark: Tell): void {
  if (oauth === undefined) return;
  if (!isJsonObject(oauth)) return tell('oauth', `${shownEntry('', oauth)} is not an object`);
  if (url === undefined) return tell('oauth', 'it has no meaning for a server with a "command"');
  checkKeys(oauth, oauthShapes, 'oauth.', tell);
  if (oauth['clientSecret'] !== undefined && oauth['clientId'] === undefined) {
    tell('oauth.clientSecret', 'requires "clientId"');
  }
  for (const name of Object.keys(oauth).filter((each) => !Object.hasOwn(oauthShapes, each))) {
    remark(`oauth.${name}`, 'this key is not known, and has no effect');
  }
}

/** Checks that the entry is either launched or reached over HTTP, and that its keys match. */
function checkKind({ type, command, url, ...rest }: JsonObject, tell: Tell): void {
  if (command !== undefined && url !== undefined) {
    tell(undefined, 'it has both a "command" and a "url": remove one of them');
    return;
  }
  if (command === undefined && url === undefined) {
    const alien = ['serverUrl', 'httpUrl'].find((key) => key in rest);
    const advice = alien === undefined ? '' : `: write "url" for ${quoted(alien)}`;
    tell(undefined, `it has neither a "command" nor a "url"${advice}`);
    return;
  }
  const isLaunched = command !== undefined;
  const means = isLaunched ? 'a "command"' : 'a "url"';
  if (type !== undefined && types.includes(type as string) && (type === 'stdio') !== isLaunched) {
    tell('type', `${shownEntry('type', type)} does not fit a server with ${means}`);
  }
  for (const key of isLaunched ? ['headers'] : ofLaunched) {
    if (rest[key] !== undefined) tell(key, `it has no meaning for a server with ${means}`);
  }
}

/** The known `oauth` keys. */
function loginOf(oauth: unknown): object {
  if (!isJsonObject(oauth)) return {};
  const known = Object.entries(oauth).filter(([name]) => Object.hasOwn(oauthShapes, name));
  return known.length === 0 ? {} : { oauth: Object.fromEntries(known) };
}

/** Settings of a valid entry. */
function settingsOf(entry: JsonObject, others: JsonObject): ServerSettings {
  const picked = (...keys: readonly string[]) =>
    Object.fromEntries(
      keys.flatMap((key) => (entry[key] === undefined ? [] : [[key, entry[key]]])),
    );
  const { restart, era } = entry;
  return {
    entry: (entry['command'] === undefined
      ? { ...picked('type', 'url', 'headers'), ...loginOf(entry['oauth']) }
      : picked('command', 'args', 'env', 'cwd')) as unknown as CommandEntry | UrlEntry,
    ...(picked('timeoutMs', 'idleMs') as { readonly timeoutMs?: number; readonly idleMs?: number }),
    ...(restart === undefined || restart === true
      ? {}
      : { restart: restart === false ? 'none' : (restart as RestartOption) }),
    ...(era === undefined || era === 'auto' ? {} : { era: era as Era }),
    lazy: entry['lazy'] === true,
    tools: (entry['tools'] ?? {}) as ToolFilter,
    bridging: picked(
      ...['share', 'poolSize', 'maxProcesses', 'processIdleMs', 'retry', 'policies', 'auth'],
    ),
    others,
  };
}
