/** Reads the command line and the environment into what the command must do. */
import { closestMatch } from 'mcp-actors/internal';
import type { LogThreshold } from 'mcp-actors/serve';
import type { Limits } from 'mcp-actors';
import { inspectorWish } from '../inspector.ts';
import type { InspectorSettings } from '../inspector.ts';
import { httpWish } from './http-settings.ts';
import type { HttpSettings } from './http-settings.ts';
import { recordWish } from './record-options.ts';
import type { RecordSettings } from './record-options.ts';
import { limitsIn, options } from './serve-options.ts';
import { openApiWish } from './openapi-settings.ts';
import type { OpenApiSettings } from './openapi-settings.ts';
import { parseOptions, switchIn } from './parse-options.ts';
import { isDirectory } from '../directories.ts';
import { UsageError, commandNames, commandWords, helpTopics, isCommandName } from '../command.ts';
import type { CommandName, HelpTopic } from '../command.ts';
import { defaultSearchTimeoutMs } from '@mcp-actors/workspace-server';

/** What the command must do. */
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
  /** As given; not checked yet. */
  readonly primaryRoot: string | undefined;
  readonly chdir: boolean;
  readonly searchTimeoutMs: number;
  readonly inspect: InspectorSettings | undefined;
  readonly record: RecordSettings | undefined;
  /** Over HTTP in place of stdio. */
  readonly http: HttpSettings | undefined;
  /** The operations of a document in place of the workspace. */
  readonly openApi: OpenApiSettings | undefined;
  /** A module whose newest code is served in place of the workspace. */
  readonly watch: string | undefined;
  /** Where a module that is served in place of the workspace keeps its tasks and calls. */
  readonly durable: string | undefined;
  /** True if no other process is to start this one again. */
  readonly unsupervised: boolean;
  /** Only the limits that were given. */
  readonly limits: Partial<Limits>;
}

/** Another command, which reads its arguments itself. */
export interface CommandInvocation {
  readonly kind: 'command';
  readonly name: CommandName;
  readonly args: readonly string[];
}

/**
 * Reads the arguments after the script's name.
 *
 * @throws {UsageError} an option is unknown, or does not take the given value
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
  const http = httpWish(values, limits.http);
  return {
    kind,
    paths,
    logLevel: values['log-level'],
    logFile: values['log-file'],
    followRoots: values['follow-roots'],
    primaryRoot: values['primary-root'],
    chdir: values['chdir'],
    searchTimeoutMs: values['search-timeout'] ?? defaultSearchTimeoutMs,
    inspect: inspectorWish(values['inspect']),
    record: recordWish(values),
    http,
    openApi: openApiWish(values, environment, http),
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
  throw new UsageError(`There is no command and no topic ${JSON.stringify(topic)}. ${advice}`);
}
