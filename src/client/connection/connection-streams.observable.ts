/** A connection as observables. A stream without subscribers costs nothing. */
import type { Observable } from 'rxjs';
import type { TrafficItem } from '../../session/traffic-item.ts';
import type { ConnectionEvent, ConnectionState } from './connection-state.ts';
import type { ListReport, Tool } from '../lists/offered.ts';

/** All of them complete when the connection is closed, and never fail. */
export interface ConnectionStreams {
  /** Begins with the present state. */
  readonly state$: Observable<ConnectionState>;
  /** Begins with what is known of the tools; each later report is whole. */
  readonly tools$: Observable<ListReport<Tool>>;
  /** What came before anybody listened is kept, up to a bound, for the first listener. */
  readonly events$: Observable<ConnectionEvent>;
  /** The messages that pass, from now on. */
  readonly traffic$: Observable<TrafficItem>;
}
