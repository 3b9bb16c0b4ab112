/** What is told of many servers: their tools, where each stands, what happens. */
import type { ConnectionEvent, ConnectionState } from '../connection/connection-state.ts';
import type { ListReport, ListStanding } from '../lists/offered.ts';
import type { ListedTool } from '../../protocol/listed.ts';
import type { ConfigChanges } from './config-changes.ts';
import type { ConfigFault } from './config-fault.ts';
import type { OwnedTool } from './merged-names.ts';

/** A tool in the merged list, with everything that its server says of it. */
export interface MergedTool extends ListedTool {
  /** What `callTool` takes: `server__tool`, made to fit where model APIs would refuse it. */
  readonly name: string;
  /** The server's name in the configuration. */
  readonly server: string;
  /** Its name at the server. */
  readonly tool: string;
  /**
   * When the server gave it, ISO 8601, if that was to another process of the host's: the server is
   * still starting, or is not started until it is used. Undefined once the server has answered.
   */
  readonly cachedAt: string | undefined;
}

/** A tool that a name means. */
export interface FoundTool extends OwnedTool {
  /**
   * As it stands in the merged list. Undefined if its server has not given a list that says whether
   * it has this tool: its answer to the call will.
   */
  readonly listed: MergedTool | undefined;
}

/** Where a server stands. */
export interface ServerStatus {
  /**
   * As its connection's. `connecting` also before it is its turn, `failed` also if its entry is
   * faulty. `idle`: its first or next use starts it. `disabled`: the configuration says so.
   */
  readonly state: ConnectionState['value'] | 'idle' | 'disabled';
  /** Why there is no connection. */
  readonly error?: Error;
  /** How many processes were launched, or endpoints tried. */
  readonly launches: number;
  /**
   * Where its own list of tools stands, and why there is none. `asking` also if it was never started;
   * `failed` also if the server has.
   */
  readonly tools: ListStanding;
}

/** What came of the start. */
export interface Startup {
  /** The servers that can be used. */
  readonly ready: readonly string[];
  /** Who had neither become ready nor failed in time, and goes on trying. */
  readonly late: readonly string[];
  /** The servers that could not be started. */
  readonly failed: readonly string[];
}

/** What happens, beside the tools. */
export type ServersEvent =
  /** Of one connection. */
  | {
      readonly type: 'connection';
      readonly server: string;
      readonly event: ConnectionEvent;
    }
  /** A server's own list: what is known of it now, under the server's names, unfiltered. */
  | { readonly type: 'tools'; readonly server: string; readonly report: ListReport<ListedTool> }
  /** The file has changed, and what it says now is done. */
  | {
      readonly type: 'config';
      readonly changes: ConfigChanges;
      readonly faults: readonly ConfigFault[];
      readonly remarks: readonly ConfigFault[];
    }
  /** The file has changed and cannot be used; all goes on as it was. Or it cannot be watched. */
  | { readonly type: 'config-failed'; readonly error: Error };
