/** Connection to the stream of updates. */
import type { PageUpdate } from '../page-messages.ts';

/** Callbacks of the update stream. */
export interface UpdateListener {
  update(update: PageUpdate): void;
  opened(): void;
  /** Connection lost; the browser reconnects by itself. */
  lost(): void;
  /** The server announced its end. */
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
