/** The stream of updates, and how it stands. */
import type { PageUpdate } from '../page-messages.ts';

export type Connection = 'connecting' | 'live' | 'lost';

/** The browser connects again by itself. */
export function connect(
  update: (update: PageUpdate) => void,
  changed: (connection: Connection) => void,
): void {
  const source = new EventSource('updates');
  source.addEventListener('open', () => changed('live'));
  source.addEventListener('error', () => changed('lost'));
  source.addEventListener('message', ({ data }) => update(JSON.parse(String(data)) as PageUpdate));
}
