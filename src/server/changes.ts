/** Change propagation between several instances of a server, such as the nodes of a cluster. */
import type { ChangeNotice } from './session/session-environment.ts';

/** Changes of one server instance. */
export interface ServerChanges {
  /** Sets the listener of local changes; undefined removes it. */
  listen(listener: ChangeNotice | undefined): void;
  /** Notifies local clients of a change at another instance. */
  readonly notify: ChangeNotice;
  /** Notifies local clients that anything may have changed, after missed changes. */
  resync(): void;
}

const known = new WeakMap<object, ServerChanges>();

/** Registers the changes of a server. */
export function registerChanges(server: object, changes: ServerChanges): void {
  known.set(server, changes);
}

/** Changes of a server; undefined unless it was created by `createMcpServer`. */
export function changesOf(server: object): ServerChanges | undefined {
  return known.get(server);
}
