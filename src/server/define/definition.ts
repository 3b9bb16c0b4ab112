/** Definition of a server: the input of `createMcpServer`. */
import type { Icon } from '../../protocol/display-info.ts';
import type { Implementation } from '../../protocol/implementation.ts';
import type { CloseCause } from '../../machines/session-ports.ts';
import type { RootsResolver } from '../../protocol/roots.ts';
import type { LoggingOptions } from '../context/session-log.ts';
import type { ServerCaching } from './caching.ts';
import type { Prompt } from './prompt.ts';
import type { Resource, ResourceTemplate } from './resource.ts';
import type { Skill, SkillFinder } from './skill.ts';
import type { ErrorExposure, Tool } from './tool.ts';
import type { DefinedUpstream } from './upstream.ts';
import type { VisibleByTag } from './visible.ts';

/** Argument of `onClose`. */
export interface ClosedSession {
  /** Session id, as in `context.session.id`. */
  readonly id: string;
  /** Reason for the end of the session. */
  readonly cause: CloseCause;
}

/** Input of {@link createMcpServer}: name, version and everything that the server offers. */
export interface ServerDefinition<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
> extends Implementation {
  /** Instructions for the model on how to use the server. */
  readonly instructions?: string;
  /** Icons of the server. Not sent before revision 2025-11-25. */
  readonly icons?: readonly Icon[];
  /** Home page of the server. */
  readonly websiteUrl?: string;
  /**
   * Tools, in list order. A list that is present, even an empty one, declares the capability
   * (likewise for resources, prompts and skills). Items can be added and removed while the server runs.
   */
  readonly tools?: TTools;
  /** Resources with a fixed URI, in list order. */
  readonly resources?: readonly Resource[];
  /** Resources whose URIs contain variables. */
  readonly resourceTemplates?: readonly ResourceTemplate[];
  /** Prompts, in list order. */
  readonly prompts?: TPrompts;
  /**
   * Skills, or a function that finds the current ones, such as `skillsFrom(directory)`. Their files are served as
   * resources; resource lists contain only each `SKILL.md`.
   *
   * @see SEP-2640
   */
  readonly skills?: readonly Skill[] | SkillFinder;
  /**
   * Declares the completion capability even if no current prompt or template has completers, for those
   * added later. By default a session declares it only if something can be completed when it starts.
   */
  readonly completions?: true;
  /**
   * Cache hints `{ ttlMs, scope }` for all results, with overrides by kind. Default: no caching. A
   * resource can override them.
   *
   * @see MCP 2026-07-28, server/utilities/caching
   */
  readonly caching?: ServerCaching;
  /** Enables `context.log` for handlers. An empty object suffices. */
  readonly logging?: LoggingOptions;
  /**
   * Resolves the client's roots to directories after each `roots/list`. By default roots stay URIs.
   */
  readonly resolveRoots?: RootsResolver;
  /**
   * Keys that encrypt request states while a call waits for its client's answers: 32 bytes each,
   * base64 or hex. The first key encrypts, any key decrypts. Processes with the same keys and the
   * same server `name` can resume each other's calls. Default: the comma-separated keys in the
   * environment variable `MCP_STATE_KEYS`, else a random key per process.
   *
   * @see MCP 2026-07-28, basic/patterns/mrtr
   */
  readonly stateKeys?: readonly string[];
  /**
   * Called once after each session ends, to release what the session opened. A returned promise is
   * awaited before `closed` resolves and before `serve` exits, for the rest of `drainTimeoutMs`. An
   * error is logged as `close.failed`.
   */
  readonly onClose?: (session: ClosedSession) => unknown;
  /**
   * Serves each client from another source, such as another MCP server, in addition to this
   * definition. Created by `defineUpstream` of `mcp-actors/bridge`.
   */
  readonly upstream?: DefinedUpstream;
  /**
   * Exposure of unexpected tool errors to the model: `show` (default) sends the message, `mask` an
   * error id. A tool can override it.
   */
  readonly errors?: ErrorExposure;
  /**
   * Visibility rules by tag: `{ admin: ({ principal }) => … }`. An item is visible if the rules of all
   * its tags and its own `visible` return true.
   */
  readonly visible?: VisibleByTag;
}
