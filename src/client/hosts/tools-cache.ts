/**
 * The tools that servers had when they were last seen, on disk: an answer for a server that is still
 * starting. It is never needed: what cannot be read or written is as if it were not there.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ServerSettings } from './server-entry.ts';
import type { Environment } from './variables.ts';

/** A longer list is not kept. */
const maxBytes = 4 * 1024 ** 2;
/** The oldest of more are removed. */
const maxFiles = 256;

/** What a server had, and when. */
export interface CachedTools {
  readonly tools: readonly (JsonObject & { readonly name: string })[];
  /** When the server gave them, ISO 8601. */
  readonly date: string;
}

/** Whose tools they are: how their server is launched or reached, and by whom. */
export interface ToolsOwner {
  readonly entry: ServerSettings['entry'];
  /** Who the server takes the host for, if its entry does not say so. */
  readonly caller: string;
}

/** Tools of servers. What one caller was given is never shown to another. */
export interface ToolsCache {
  /** Resolves to undefined if there are none, or none that can be read. */
  read(owner: ToolsOwner): Promise<CachedTools | undefined>;
  /** Replaces what there is. Resolves to whether it could be written. */
  write(owner: ToolsOwner, tools: CachedTools): Promise<boolean>;
}

/** The folder for what can be made again, as the system has it. */
export function defaultCacheFolder(
  environment: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const byPlatform = {
    darwin: join(homedir(), 'Library', 'Caches'),
    win32: environment['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local'),
  }[platform as 'darwin' | 'win32'] as string | undefined;
  const folder = environment['XDG_CACHE_HOME'] || (byPlatform ?? join(homedir(), '.cache'));
  return join(folder, 'mcp-actors', 'tools');
}

/**
 * A cache in a folder of mode 0700, with a file of mode 0600 for each server and caller. A file's
 * name is a digest of both: it shows no command and no secret.
 */
export function toolsCache(folder: string): ToolsCache {
  const pathOf = (owner: ToolsOwner) => join(folder, `${digestOf(owner)}.json`);
  return {
    read: async (owner) => {
      const text = await readFile(pathOf(owner), 'utf8').catch(() => undefined);
      return text === undefined ? undefined : parse(text);
    },
    write: async (owner, tools) => {
      const text = JSON.stringify(tools);
      if (text.length > maxBytes) return false;
      const path = pathOf(owner);
      const draft = `${path}.${randomBytes(4).toString('hex')}.tmp`;
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(draft, text, { mode: 0o600 });
        await rename(draft, path);
        await removeOldest(folder);
        return true;
      } catch {
        await rm(draft, { force: true }).catch(() => undefined);
        return false;
      }
    },
  };
}

function digestOf({ entry, caller }: ToolsOwner): string {
  const sorted = JSON.stringify({ entry, caller }, (_key, value: unknown) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
  return createHash('sha256').update(sorted).digest('hex');
}

/** Somebody else may have written there, or another version of us. */
function parse(text: string): CachedTools | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { tools, date } = value;
  const isWhole =
    typeof date === 'string' &&
    Array.isArray(tools) &&
    tools.every((tool: unknown) => isJsonObject(tool) && typeof tool['name'] === 'string');
  return isWhole ? { date, tools: tools as CachedTools['tools'] } : undefined;
}

async function removeOldest(folder: string): Promise<void> {
  const names = await readdir(folder);
  if (names.length <= maxFiles) return;
  const dated = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const found = await stat(path).catch(() => undefined);
      return { path, writtenMs: found?.mtimeMs ?? 0 };
    }),
  );
  const oldest = dated.sort((a, b) => b.writtenMs - a.writtenMs).slice(maxFiles);
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })));
}
