/** Parses the command line and the environment. */
import { closestMatch } from 'mcp-actors/internal';
import type { LogThreshold } from 'mcp-actors/serve';
import type { Limits } from 'mcp-actors';
import { readInspectorSettings } from '../inspector.ts';
import type { InspectorSettings } from '../inspector.ts';
import { readHttpSettings } from './http-settings.ts';
import type { HttpSettings } from './http-settings.ts';
import { readRecordSettings } from './record-options.ts';
import type { RecordSettings } from './record-options.ts';
import { limitsIn, options } from './serve-options.ts';
import { readOpenApiSettings } from './openapi-settings.ts';
import type { OpenApiSettings } from './openapi-settings.ts';
import { parseOptions, switchIn } from './parse-options.ts';
import { isDirectory } from '../directories.ts';
import { UsageError, commandNames, commandWords, helpTopics, isCommandName } from '../command.ts';
import type { CommandName, HelpTopic } from '../command.ts';
import { defaultSearchTimeoutMs } from '@mcp-actors/workspace-server';

/** Parsed invocation of the command. */
export type Invocation =
  | { readonly kind: 'help'; readonly topic?: HelpTopic }
  /** Help that nobody asked for: the command line is empty. */
  | { readonly kind: 'usage' }
  | { readonly kind: 'version' }
  | ServeInvocation
  | CommandInvocation;

export interface ServeInvocation {
  /** `workspace` serves directories, `serve` a module or an API. */
  readonly kind: 'serve' | 'workspace';
  /** Directories, or one module. Not checked yet. */
  readonly paths: readonly string[];
  readonly logLevel: LogThreshold;
  readonly logFile: string | undefined;
  readonly followRoots: boolean;
  /** Unchecked value from the command line. */
  readonly primaryRoot: string | undefined;
  readonly chdir: boolean;
  readonly searchTimeoutMs: number;
  readonly inspect: InspectorSettings | undefined;
  readonly record: RecordSettings | undefined;
  /** HTTP settings; undefined for stdio. */
  readonly http: HttpSettings | undefined;
  /** OpenAPI document to serve instead of the workspace. */
  readonly openApi: OpenApiSettings | undefined;
  /** Module to serve and reload instead of the workspace. */
  readonly watch: string | undefined;
  /** Store for the tasks and calls of a module served instead of the workspace. */
  readonly durable: string | undefined;
  /** True to run without a supervisor. */
  readonly unsupervised: boolean;
  /** Explicitly set limits. */
  readonly limits: Partial<Limits>;
}

/** Another command, which parses its own arguments. */
export interface CommandInvocation {
  readonly kind: 'command';
  readonly name: CommandName;
  readonly args: readonly string[];
}

/**
 * Parses the arguments after the script's name.
 *
 * @throws {UsageError} if an option is unknown or has an invalid value
 */
export function readArguments(
  args: readonly string[],
  environment: { readonly [name: string]: string | undefined },
): Invocation {
  const [name, ...others] = args;
  if (isCommandName(name)) return { kind: 'command', name, args: others };
  if (name === 'help') return helpOn(others[0]);
  if (name === 'version') return { kind: 'version' };
  const line = { command: 'mcp-actors', args, environment };
  const wanted = switchIn(options, line, 'help', 'version');
  if (wanted) return { kind: wanted };
  if (args.length === 0) return { kind: 'usage' };
  const { values, positionals } = parseOptions(options, line);
  const [kind, ...paths] = positionals;
  if (kind !== 'serve' && kind !== 'workspace') throw unknownCommand(kind, args);
  const limits = limitsIn(values);
  const http = readHttpSettings(values, limits.http);
  return {
    kind,
    paths,
    logLevel: values['log-level'],
    logFile: values['log-file'],
    followRoots: values['follow-roots'],
    primaryRoot: values['primary-root'],
    chdir: values['chdir'],
    searchTimeoutMs: values['search-timeout'] ?? defaultSearchTimeoutMs,
    inspect: readInspectorSettings(values['inspect']),
    record: readRecordSettings(values),
    http,
    openApi: readOpenApiSettings(values, environment, http),
    watch: values.watch,
    durable: values.durable,
    unsupervised: values.unsupervised,
    limits: limits.session,
  };
}

/** Names the command that was probably meant: one with a similar name, or the workspace. */
function unknownCommand(word: string | undefined, args: readonly string[]): UsageError {
  const workspace = `To serve directories: mcp-actors workspace ${args.join(' ')}`;
  if (word === undefined) return new UsageError(`A command must come first. ${workspace}`);
  const near = closestMatch(word, commandWords);
  const advice =
    near !== undefined
      ? `Did you mean ${near}?`
      : isDirectory(word)
        ? workspace
        : 'See mcp-actors help';
  return new UsageError(`There is no command ${JSON.stringify(word)}. ${advice}`);
}

function helpOn(topic: string | undefined): Invocation {
  if (isCommandName(topic)) return { kind: 'command', name: topic, args: ['--help'] };
  if (topic === undefined || topic.startsWith('-')) return { kind: 'help' };
  const known = helpTopics.find((each) => each === topic);
  if (known !== undefined) return { kind: 'help', topic: known };
  const near = closestMatch(topic, [...commandNames, ...helpTopics]);
  const advice = near === undefined ? 'See mcp-actors help' : `Did you mean ${near}?`;
  throw new UsageError(`Unknown command or topic ${JSON.stringify(topic)}. ${advice}`);
}
