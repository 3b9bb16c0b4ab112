/** A server's definition, as its author writes it. */
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

/** A session that has ended. */
export interface ClosedSession {
  /** As handlers have seen it: `context.session.id`. */
  readonly id: string;
  /** Why it has ended. */
  readonly cause: CloseCause;
}

/** What an author says of a server; see {@link createMcpServer}. */
export interface ServerDefinition<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
> extends Implementation {
  /** Tells a model how to use the server. */
  readonly instructions?: string;
  /** Pictures of the server. Revisions before 2025-11-25 do not know them. */
  readonly icons?: readonly Icon[];
  /** Where people read about the server. */
  readonly websiteUrl?: string;
  /**
   * Each kind of item that is given, even an empty list, is declared to clients. Its items may
   * change while the server runs.
   */
  readonly tools?: TTools;
  /** The resources with a fixed URI, in the order in which they are listed. */
  readonly resources?: readonly Resource[];
  /** The resources whose URIs have variables. */
  readonly resourceTemplates?: readonly ResourceTemplate[];
  /** The prompts, in the order in which they are listed. */
  readonly prompts?: TPrompts;
  /**
   * The skills, or what finds those that exist now: `skillsFrom` of a directory, for example. Their files are resources,
   * of which each `SKILL.md` is listed.
   *
   * @see SEP-2640
   */
  readonly skills?: readonly Skill[] | SkillFinder;
  /**
   * Declares completion even if nothing completes yet, for prompts and templates that are added
   * while sessions are open. Without it, a session has completion only if something completes when
   * it begins.
   */
  readonly completions?: true;
  /**
   * How long clients may cache lists, resources and what the server says of itself, and whether
   * caches may share it: `{ ttlMs, scope }` for everything, and by kind. By default nothing may be
   * cached. A resource may say otherwise.
   *
   * @see MCP 2026-07-28, server/utilities/caching
   */
  readonly caching?: ServerCaching;
  /** If given, even empty, handlers can log to the client: `context.log`. */
  readonly logging?: LoggingOptions;
  /**
   * Resolves the client's roots each time the client is asked for them. Without it, they stay URIs.
   */
  readonly resolveRoots?: RootsResolver;
  /**
   * Keys that seal what travels through clients while a call waits for their answers, 32 bytes each
   * in base64 or hex. The first one seals, any opens. Processes that share them go on with each
   * other's calls if their servers have the same `name`: what one seals, no server of another name
   * opens. By default those in the environment's `MCP_STATE_KEYS`, between commas; without
   * any, a key that lives as long as the process.
   *
   * @see MCP 2026-07-28, basic/patterns/mrtr
   */
  readonly stateKeys?: readonly string[];
  /**
   * Called once for each session after it has ended, with why: closes what the session, or a server
   * with one session, has opened. What it gives is awaited before `closed` resolves, and before
   * `serve` ends the process, for what the drain has left of its time (`drainTimeoutMs`). If it
   * throws, the log has it.
   */
  readonly onClose?: (session: ClosedSession) => unknown;
  /**
   * Makes what answers a client beside the definition, after the client has said who it is: another
   * server, for example. Made by `defineUpstream` of `mcp-actors/bridge`.
   */
  readonly upstream?: DefinedUpstream;
  /**
   * What a model sees of an error that a tool threw and did not mean for it; by default `show`, its
   * message. A tool may say otherwise.
   */
  readonly errors?: ErrorExposure;
  /**
   * For whom items exist that have a tag: `{ admin: ({ principal }) => … }`. An item with several
   * tags exists if all of them agree, and its own `visible`.
   */
  readonly visible?: VisibleByTag;
}
