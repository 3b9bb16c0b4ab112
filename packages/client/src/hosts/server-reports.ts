/** Reports on many servers: their tools, the status of each, their events. */
import type {
  ConnectionEvent,
  ConnectionState,
} from '../connection/connection-streams.observable.ts';
import type { ListReport, ListState } from '../lists/list-results.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import type { ConfigChanges } from './config-changes.ts';
import type { ConfigProblem } from './config-problem.ts';
import type { OwnedTool } from './merged-names.ts';

/** A tool in the merged list, with everything that its server says about it. */
export interface MergedTool extends ListedTool {
  /** The name for `callTool`: `server__tool`, adapted if model APIs would refuse that. */
  readonly name: string;
  /** The server's name in the configuration. */
  readonly server: string;
  /** Its name at the server. */
  readonly tool: string;
  /**
   * Set if the tool comes from the cache, because the server is still starting or starts at its
   * first use: when the server listed it, ISO 8601. Undefined once the server has answered.
   */
  readonly cachedAt: string | undefined;
}

/** A tool found for a name. */
export interface FoundTool extends OwnedTool {
  /**
   * Its entry in the merged list. Undefined if its server has not listed its tools, so that only a
   * call will show whether it has this one.
   */
  readonly listed: MergedTool | undefined;
}

/** The status of a server. */
export interface ServerStatus {
  /**
   * The state of its connection. `connecting` also before its turn to start, `failed` also if its
   * entry is faulty. `idle`: its first or next use starts it. `disabled`: by the configuration.
   */
  readonly state: ConnectionState['value'] | 'idle' | 'disabled';
  /** Why there is no connection. */
  readonly error?: Error;
  /** How many processes were launched or endpoints tried. */
  readonly launches: number;
  /**
   * The state of its list of tools, and why there is none. `asking` also if the server was never
   * started; `failed` also if the server has failed.
   */
  readonly tools: ListState;
}

/** The outcome of the start. */
export interface Startup {
  /** The servers that can be used. */
  readonly ready: readonly string[];
  /** The servers that were neither ready nor failed in time; they keep trying. */
  readonly late: readonly string[];
  /** The servers that could not be started. */
  readonly failed: readonly string[];
}

/** The events besides changes of the tools. */
export type ServersEvent =
  /** An event of one connection. */
  | {
      readonly type: 'connection';
      readonly server: string;
      readonly event: ConnectionEvent;
    }
  /** A server's own list as it is known now, with the server's names, unfiltered. */
  | { readonly type: 'tools'; readonly server: string; readonly report: ListReport<ListedTool> }
  /** The file has changed and was applied. */
  | {
      readonly type: 'config';
      readonly changes: ConfigChanges;
      readonly faults: readonly ConfigProblem[];
      readonly remarks: readonly ConfigProblem[];
    }
  /** The file has changed but cannot be used, so nothing changes; or it cannot be watched. */
  | { readonly type: 'config-failed'; readonly error: Error };
