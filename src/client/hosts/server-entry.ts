/** One entry of an `mcpServers` file: its keys, what each takes, and what is made of it. */
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { nearest } from '../../protocol/nearest.ts';
import { quoted } from '../../protocol/printable.ts';
import { shown } from './config-fault.ts';
import type { ConfigFault } from './config-fault.ts';
import type { CommandEntry, UrlEntry } from '../connection/options.ts';
import {
  httpRestart,
  isRestartValue,
  processRestart,
  restartFields,
  restartPolicyWith,
  restartWords,
} from '../../machines/restart-policy.ts';
import type { Era } from '../../machines/connection-context.ts';
import type { RestartOption } from '../../machines/restart-policy.ts';
import { expand } from './variables.ts';
import type { Environment } from './variables.ts';

/** Which of a server's tools are in the merged list: names, in which `*` stands for any text. */
export interface ToolFilter {
  /** Without it, all. */
  readonly allow?: readonly string[];
  /** It wins over `allow`. */
  readonly deny?: readonly string[];
}

/** What the manager does with a server, beside connecting to it. */
export interface ServerSettings {
  readonly entry: CommandEntry | UrlEntry;
  /** How long a request may be unanswered, milliseconds. */
  readonly timeoutMs?: number;
  readonly restart?: RestartOption;
  /** The era that its server speaks; undefined: it is found out. */
  readonly era?: Era;
  /** Whether the server is started with its first use. */
  readonly lazy: boolean;
  /** After how long without a request it is stopped, milliseconds; undefined: never. */
  readonly idleMs?: number;
  readonly tools: ToolFilter;
  /** What other hosts' keys say, as it is written; we do nothing with it. */
  readonly others: JsonObject;
}

/** A server of a configuration. */
export type HostedServer =
  | { readonly kind: 'enabled'; readonly settings: ServerSettings }
  /** It is not looked at further. */
  | { readonly kind: 'disabled' }
  /** It cannot be started. */
  | { readonly kind: 'invalid'; readonly faults: readonly ConfigFault[] };

/** A server, and what its author may want to know. */
export interface ReadServer {
  readonly server: HostedServer;
  readonly remarks: readonly ConfigFault[];
}

const types = ['stdio', 'http', 'streamable-http', 'sse'];
const eras = ['auto', 'legacy', 'modern'];
const longestMs = 2 ** 31 - 1;

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
/** What a value must be. Of lists and objects, each element. */
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
  allowed: `a whole number of milliseconds, from 1 to ${longestMs}`,
  takes: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= longestMs,
};
const flag: Shape = { allowed: 'true or false', takes: (value) => typeof value === 'boolean' };

const shapes: { readonly [key: string]: Shape } = {
  type: {
    allowed: `one of ${types.join(', ')}`,
    takes: (value) => types.some((each) => each === value),
  },
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
  era: {
    allowed: `one of ${eras.join(', ')}`,
    takes: (value) => eras.some((each) => each === value),
  },
  disabled: flag,
  timeoutMs: time,
  lazy: flag,
  idleMs: time,
};

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

const toolShapes: { readonly [key: string]: Shape } = { allow: texts, deny: texts };

const restartShapes: { readonly [key: string]: Shape } = Object.fromEntries(
  restartFields.map((field) => [
    field,
    { allowed: restartWords(field), takes: (value) => isRestartValue(field, value) },
  ]),
);

/** What other hosts have in their files: VS Code, Claude Code, Cursor, Cline, Windsurf, Gemini CLI, Codex, LibreChat. */
const keysOfOthers = new Set(
  `alwaysAllow alwaysLoad auth authProviderType autoApprove description dev disabledTools displayName
  enabled envFile env_file excludeTools gallery headersHelper httpUrl icon includeTools initTimeout
  instructions name sandbox sandboxEnabled scopes serverInstructions serverUrl startup timeout
  title trust version watchPaths`.split(/\s+/),
);

/** What is wrong, by its key within the entry. */
type Tell = (key: string | undefined, message: string) => void;

/**
 * Reads one entry. Its faults are all found at once.
 *
 * @param place the file and the server that faults name
 */
export function readServer(
  written: unknown,
  place: Pick<ConfigFault, 'file' | 'server'>,
  environment: Environment,
): ReadServer {
  const faults: ConfigFault[] = [];
  const remarks: ConfigFault[] = [];
  const tell: Tell = (key, message) => faults.push({ ...place, key, message });
  if (!isJsonObject(written)) {
    tell(undefined, `${shown('', written)} is not an object with a "command" or a "url"`);
    return { server: { kind: 'invalid', faults }, remarks };
  }
  if (written['disabled'] === true) return { server: { kind: 'disabled' }, remarks };
  const entry = expanded(written, '', environment, tell) as JsonObject;
  const { restart, tools, oauth, ...plain } = entry;
  checkKeys(plain, shapes, '', tell);
  checkKind(plain, tell);
  checkLogin(oauth, plain, tell, (key, message) => remarks.push({ ...place, key, message }));
  if (tools !== undefined) checkObject(tools, toolShapes, 'tools', tell);
  if (!isWord(restart)) checkRestart(restart, entry['command'] !== undefined, tell);
  const others = Object.entries(plain).filter(([key]) => !Object.hasOwn(shapes, key));
  for (const [key] of others.filter(([key]) => !keysOfOthers.has(key))) {
    const near = nearest(key, [...Object.keys(shapes), 'restart', 'tools']);
    const meant = near === undefined ? '' : `. Did you mean ${near}?`;
    remarks.push({ ...place, key, message: `this key is not known, and has no effect${meant}` });
  }
  if (faults.length > 0) return { server: { kind: 'invalid', faults }, remarks };
  const settings = settingsOf(entry, Object.fromEntries(others));
  return { server: { kind: 'enabled', settings }, remarks };
}

/** A copy with the variables put in. Keys stay as they are. */
function expanded(value: unknown, key: string, environment: Environment, tell: Tell): unknown {
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

const isWord = (restart: unknown): boolean =>
  restart === undefined || typeof restart === 'boolean' || restart === 'none';

/** Field by field, and then whether they fit each other. */
function checkRestart(restart: unknown, isLaunched: boolean, tell: Tell): void {
  let faults = 0;
  checkObject(restart, restartShapes, 'restart', (key, message) => {
    faults++;
    tell(key, message);
  });
  if (faults > 0) return;
  try {
    restartPolicyWith(restart as RestartOption, isLaunched ? processRestart : httpRestart);
  } catch (error) {
    tell('restart', (error as RangeError).message);
  }
}

/** Of members that are objects themselves. An unknown key is a fault: a filter or a bound that does nothing would be dangerous. */
function checkObject(
  value: unknown,
  table: { readonly [key: string]: Shape },
  key: string,
  tell: Tell,
): void {
  const keys = Object.keys(table).join(', ');
  const allowed = `an object with any of ${keys}${key === 'restart' ? ', or true, false or "none"' : ''}`;
  if (!isJsonObject(value)) {
    tell(key, `${shown(key, value)} is not ${allowed}`);
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
      if (takes?.(value) !== true) tell(key, `${shown(key, value)} is not ${allowed}`);
    } else if (each.of === 'list' ? !Array.isArray(value) : !isJsonObject(value)) {
      tell(key, `${shown('', value)} is not ${allowed}`);
    } else {
      for (const [at, element] of Object.entries(value as object)) {
        const inside = each.of === 'list' ? `${key}[${at}]` : `${key}.${at}`;
        if (!each.takes(element, at))
          tell(inside, `${shown(inside, element)} is not ${each.allowed}`);
      }
    }
  }
}

/** Hosts differ in what they read here: what is not ours has no effect, and is told. */
function checkLogin(oauth: unknown, { url }: JsonObject, tell: Tell, remark: Tell): void {
  if (oauth === undefined) return;
  if (!isJsonObject(oauth)) return tell('oauth', `${shown('', oauth)} is not an object`);
  if (url === undefined) return tell('oauth', 'it has no meaning for a server with a "command"');
  checkKeys(oauth, oauthShapes, 'oauth.', tell);
  if (oauth['clientSecret'] !== undefined && oauth['clientId'] === undefined) {
    tell('oauth.clientSecret', 'it is of no use without "clientId"');
  }
  for (const name of Object.keys(oauth).filter((each) => !Object.hasOwn(oauthShapes, each))) {
    remark(`oauth.${name}`, 'this key is not known, and has no effect');
  }
}

/** Whether it is launched or reached, and whether the keys fit that. */
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
    tell('type', `${shown('type', type)} does not fit a server with ${means}`);
  }
  for (const key of isLaunched ? ['headers'] : ['args', 'env', 'cwd']) {
    if (rest[key] !== undefined) tell(key, `it has no meaning for a server with ${means}`);
  }
}

/** What of it is ours. */
function loginOf(oauth: unknown): object {
  if (!isJsonObject(oauth)) return {};
  const known = Object.entries(oauth).filter(([name]) => Object.hasOwn(oauthShapes, name));
  return known.length === 0 ? {} : { oauth: Object.fromEntries(known) };
}

/** Of an entry whose members are all as they should be. */
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
    others,
  };
}

/** Whether a tool is in the merged list. */
export function isAllowed(tool: string, { allow, deny = [] }: ToolFilter): boolean {
  const fits = (pattern: string): boolean => fitsStars(pattern, tool);
  return (allow === undefined || allow.some(fits)) && !deny.some(fits);
}

/**
 * Whether a name fits a pattern whose stars stand for any characters. The server chooses the name:
 * each part between the stars is looked for once, from where the last one ended.
 */
function fitsStars(pattern: string, name: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first) || name.length < first.length + last.length) return false;
  const middle = name.slice(first.length, name.length - last.length);
  let at = 0;
  for (const part of parts) {
    const found = middle.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.endsWith(last);
}
