/** What a server consists of, as its author writes it down. */
import type { Icon } from '../protocol/described.ts';
import type { Implementation } from '../protocol/implementation.ts';
import type { RootsResolver } from '../machines/roots-report.ts';
import type { LoggingOptions } from '../context/session-log.ts';
import type { Prompt } from './prompt.ts';
import type { Resource, ResourceTemplate } from './resource.ts';
import type { Tool } from './tool.ts';

export interface ServerDefinition extends Implementation {
  /** How to use the server, for a model. */
  readonly instructions?: string;
  readonly icons?: readonly Icon[];
  readonly websiteUrl?: string;
  /** A kind that is given, be it empty, is declared to clients, and its items may change while the server runs. */
  readonly tools?: readonly Tool[];
  readonly resources?: readonly Resource[];
  readonly resourceTemplates?: readonly ResourceTemplate[];
  readonly prompts?: readonly Prompt[];
  /**
   * Declares completion though nothing completes yet: for prompts and templates that are added while sessions are open. Without it, a
   * session in which nothing completes when it begins has no completion.
   */
  readonly completions?: true;
  /** Where given, be it empty, handlers log to the client: `context.log`. */
  readonly logging?: LoggingOptions;
  /** Resolves the client's roots as part of each query. Without it they stay URIs. */
  readonly resolveRoots?: RootsResolver;
}
