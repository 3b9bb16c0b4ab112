/** The stream of updates, and its state. */
import type { PageUpdate } from '../page-messages.ts';

/** What hears of it. */
export interface UpdateListener {
  update(update: PageUpdate): void;
  opened(): void;
  /** The browser connects again by itself. */
  lost(): void;
  /** The server has said that it ends. */
  ended(): void;
}

export function connectPage({ update, opened, lost, ended }: UpdateListener): void {
  const source = new EventSource('updates');
  source.addEventListener('open', opened);
  source.addEventListener('error', lost);
  source.addEventListener('message', ({ data }) => update(JSON.parse(String(data)) as PageUpdate));
  source.addEventListener('end', () => {
    source.close();
    ended();
  });
}
