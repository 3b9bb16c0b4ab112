/** `--inspect`: who looks at the session that the command serves. What they are made of is loaded when it is asked for. */
import type { ListenOptions } from '../server/create-server.ts';
import { UsageError } from './command.ts';

/** What `--inspect` asks for. */
export type InspectorWish =
  /** A page of our own; without a port the system chooses one. */
  | { readonly kind: 'page'; readonly port: number | undefined }
  /** The official inspector, which listens on this port. */
  | { readonly kind: 'stately'; readonly port: number };

/** Somebody who looks. */
export interface Inspector {
  /** What the session is started with. */
  readonly options: Pick<ListenOptions, 'inspect' | 'watchers'>;
  close(): Promise<void>;
}

const form = /^(?:(stately)(?::|$))?(\d{1,5})?$/;
const highestPort = 65_535;
/** Where the official inspector's own server listens. */
const statelyPort = 8080;

/**
 * What stands after `--inspect`.
 *
 * @throws {UsageError} something else than a port or a name that is known
 */
export function inspectorWish(value: string | undefined): InspectorWish | undefined {
  if (value === undefined) return undefined;
  if (value === '') return { kind: 'page', port: undefined };
  if (value === 'stately') return { kind: 'stately', port: statelyPort };
  const [, stately, digits] = form.exec(value) ?? [];
  const port = Number(digits);
  if (port >= 1 && port <= highestPort) return { kind: stately ? 'stately' : 'page', port };
  throw new UsageError(
    `--inspect: ${JSON.stringify(value)} is neither a port from 1 to ${highestPort} nor "stately" or "stately:PORT"; without a value a free port is taken`,
  );
}

/**
 * Starts what looks, before the session that it looks at.
 *
 * @throws {UsageError} it cannot be started, such as on a port that is taken
 */
export async function openInspector(wish: InspectorWish): Promise<Inspector> {
  switch (wish.kind) {
    case 'page': {
      const { openPage } = await import('./inspector-page.ts');
      return openPage(wish.port);
    }
    case 'stately': {
      const { openStately } = await import('./inspector-stately.ts');
      return openStately(wish.port);
    }
  }
}
