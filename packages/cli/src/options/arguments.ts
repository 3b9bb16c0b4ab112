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

import { UsageError, commandNames, helpTopics, isCommandName } from '../command.ts';
import type { CommandName, HelpTopic } from '../command.ts';
import { defaultSearchTimeoutMs } from '@mcp-actors/workspace-server';

/** What the command must do. */
export type Invocation =
  | { readonly kind: 'help'; readonly topic?: HelpTopic }
  | { readonly kind: 'version' }
  | ServeInvocation
  | CommandInvocation;

export interface ServeInvocation {
  readonly kind: 'serve';
  /** As given; not checked yet. */
  readonly directories: readonly string[];
  /** Whether the first directory may be meant as a command. */
  readonly place: 'after serve' | 'where a command may stand';
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
  const { values, positionals } = parseOptions(options, line);
  const [first, ...rest] = positionals;
  const limits = limitsIn(values);
  const http = httpWish(values, limits.http);
  return {
    kind: 'serve',
    directories: first === 'serve' ? rest : positionals,
    place: first === 'serve' ? 'after serve' : 'where a command may stand',
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

function helpOn(topic: string | undefined): Invocation {
  if (isCommandName(topic)) return { kind: 'command', name: topic, args: ['--help'] };
  if (topic === undefined || topic.startsWith('-')) return { kind: 'help' };
  const known = helpTopics.find((each) => each === topic);
  if (known !== undefined) return { kind: 'help', topic: known };
  const near = closestMatch(topic, [...commandNames, ...helpTopics]);
  const advice = near === undefined ? 'See mcp-actors help' : `Did you mean ${near}?`;
  throw new UsageError(`There is no command and no topic ${JSON.stringify(topic)}. ${advice}`);
}
