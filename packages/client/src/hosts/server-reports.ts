/** Reports about many servers: tools, status and events. */
import type {
  ConnectionEvent,
  ConnectionState,
} from '../connection/connection-streams.observable.ts';
import type { ListReport, ListState } from '../lists/list-results.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import type { ConfigChanges } from './config-changes.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { OwnedTool } from './merged-names.ts';

/** A tool in the merged list, with its server's description. */
export interface MergedTool extends ListedTool {
  /** Name for `callTool`: `server__tool`, adapted to the limits of model APIs. */
  readonly name: string;
  /** Name of the server in the configuration. */
  readonly server: string;
  /** Name of the tool at the server. */
  readonly tool: string;
  /**
   * Time when the server listed the tool, ISO 8601, if the entry comes from the cache because the
   * server is starting or starts at its first use. Undefined once the server has answered.
   */
  readonly cachedAt: string | undefined;
}

/** A tool found by name. */
export interface FoundTool extends OwnedTool {
  /**
   * The entry in the merged list. Undefined if the server has not listed its tools, so that only a
   * call can show whether it has this one.
   */
  readonly listed: MergedTool | undefined;
}

/** Status of a server. */
export interface ServerStatus {
  /**
   * State of its connection. Also `connecting` while queued to start, and `failed` if its entry is
   * invalid. `idle`: the next use starts it. `disabled`: by the configuration.
   */
  readonly state: ConnectionState['value'] | 'idle' | 'disabled';
  /** Reason for having no connection. */
  readonly error?: Error;
  /** Number of processes launched or endpoints tried. */
  readonly launches: number;
  /**
   * State of its tool list, with the reason if there is none. Also `asking` if the server was never
   * started, and `failed` if the server failed.
   */
  readonly tools: ListState;
}

/** Result of the startup. */
export interface Startup {
  /** Servers ready for use. */
  readonly ready: readonly string[];
  /** Servers that are still starting. */
  readonly late: readonly string[];
  /** Servers that could not be started. */
  readonly failed: readonly string[];
}

/** Events other than changes of the merged tools. */
export type ServersEvent =
  /** An event of one connection. */
  | {
      readonly type: 'connection';
      readonly server: string;
      readonly event: ConnectionEvent;
    }
  /** A server's own tool list, with the server's names, unfiltered. */
  | { readonly type: 'tools'; readonly server: string; readonly report: ListReport<ListedTool> }
  /** The file changed and was applied. */
  | {
      readonly type: 'config';
      readonly changes: ConfigChanges;
      readonly faults: readonly ConfigProblem[];
      readonly remarks: readonly ConfigProblem[];
    }
  /** The file changed but is unusable, so nothing changes; or it cannot be watched. */
  | { readonly type: 'config-failed'; readonly error: Error };
