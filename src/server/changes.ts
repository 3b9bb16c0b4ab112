/** What changes at a server for all of its clients, for a host that has more than one such server. */
import type { ChangeNotice } from './session/session-environment.ts';

/** The changes of one server. */
export interface ServerChanges {
  /** Hears of each change that was made here; undefined for nobody. */
  listen(listener: ChangeNotice | undefined): void;
  /** Tells the clients here of a change that was made elsewhere. */
  readonly tell: ChangeNotice;
  /** Tells the clients here that everything may have changed elsewhere. */
  missed(): void;
}

const known = new WeakMap<object, ServerChanges>();

/** Makes the changes of a server known. */
export function rememberChanges(server: object, changes: ServerChanges): void {
  known.set(server, changes);
}

/** Undefined if the server was not made by `createMcpServer`. */
export function changesOf(server: object): ServerChanges | undefined {
  return known.get(server);
}
