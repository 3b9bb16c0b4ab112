/**
 * Disk cache of the tools that servers listed in their last run, for servers that are still
 * starting. The cache is optional: unreadable or unwritable files count as absent.
 */
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { ServerSettings } from './server-entry.ts';
import { jsonDigest } from './servers-lock.ts';
import type { EnvironmentVariables } from './variables.ts';

/** Maximum size of a cached list. */
const maxBytes = 4 * 1024 ** 2;
/** Maximum number of files; the oldest are removed. */
const maxFiles = 256;

/** A server's tools, with the time of the list. */
export interface CachedTools {
  readonly tools: readonly (JsonObject & { readonly name: string })[];
  /** Time of the list, ISO 8601. */
  readonly date: string;
}

/** Cache key: the server's entry and the caller. */
export interface ToolsOwner {
  readonly entry: ServerSettings['entry'];
  /** The host's identity as the server sees it, if the entry alone does not determine it. */
  readonly caller: string;
}

/** Cache of servers' tools. Callers never see each other's tools. */
export interface ToolsCache {
  /** Resolves to undefined if no readable tools are cached. */
  read(owner: ToolsOwner): Promise<CachedTools | undefined>;
  /** Replaces the tools. Resolves to false if they could not be written. */
  write(owner: ToolsOwner, tools: CachedTools): Promise<boolean>;
}

/** The system's cache folder. */
export function defaultCacheFolder(
  environment: EnvironmentVariables = process.env,
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
 * A cache in a folder of mode 0700, with a file of mode 0600 per server and caller. File names are
 * digests of both, so they reveal neither commands nor secrets.
 */
export function toolsCache(folder: string): ToolsCache {
  const pathOf = ({ entry, caller }: ToolsOwner) =>
    join(folder, `${jsonDigest({ entry, caller })}.json`);
  return {
    read: async (owner) => parse(await readFile(pathOf(owner), 'utf8').catch(() => '')),
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
        await rm(draft).catch(() => undefined);
        return false;
      }
    },
  };
}

/** Parses a cached file, which may be forged or of another version. */
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
