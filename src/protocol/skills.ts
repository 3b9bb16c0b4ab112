/**
 * Skills on the wire: directories of instructions for a model, which are read as resources.
 *
 * @see SEP-2640; https://agentskills.io/specification
 */
import { inspectValue, isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** The name of skills among a server's extensions. */
export const skillsExtension = 'io.modelcontextprotocol/skills';

export const skillMethods = ['skills/list', 'skills/get', 'resources/directory/read'] as const;

/** The type of a directory in the answer to `resources/directory/read`. */
export const directoryMimeType = 'inode/directory';

/** The file that each skill has. */
export const skillFileName = 'SKILL.md';

/** What a skill begins its URIs with. */
export const skillScheme = 'skill://';

/** Every host takes a skill of so many files and bytes; a larger one is refused here. */
export const skillBounds = { files: 512, bytes: 16 * 1024 * 1024, frontmatterBytes: 16 * 1024 };

/** A file of a skill: what it is read by, and what is read. */
export interface SkillFile {
  /** What it is read by. */
  readonly uri: string;
  /** `sha256:` and the digest of its bytes, 64 digits of lowercase hex. */
  readonly digest: string;
  /** Bytes. */
  readonly size: number;
}

/** What `SKILL.md` says of its skill at its beginning, as JSON. */
export interface SkillFrontmatter extends JsonObject {
  /** 1 to 64 lowercase letters, digits and single hyphens. Another skill may have the same one. */
  readonly name: string;
  /** For the model: what the skill is good for, and when. At most 1,024 characters. */
  readonly description: string;
}

/**
 * A skill in the answer to `skills/list`, or to `skills/get`. It is as much a stranger's text as anything else that a
 * server says: its digests say that content belongs to it, not that either can be trusted.
 *
 * @see SEP-2640, "Skill Entries"
 */
export interface ListedSkill extends JsonObject {
  /** The URI of its `SKILL.md`, which tells it from the server's other skills. */
  readonly uri: string;
  /** All that its `SKILL.md` says of itself. */
  readonly frontmatter: SkillFrontmatter;
  /** All its files, `SKILL.md` among them; `dynamic` if they are made when they are read. */
  readonly resources: readonly SkillFile[] | 'dynamic';
}

/** The directory of a skill: the URI of its `SKILL.md` without the name of the file. */
export const skillRoot = (uri: string): string => uri.slice(0, -skillFileName.length - 1);

/** A path as a part of a URI. */
export const encodedPath = (path: string): string =>
  path.split('/').map(encodeURIComponent).join('/');

/**
 * The path of a URI below a directory, decoded; undefined if it is not below it, or leads out of it in whatever spelling.
 */
export function pathBelow(root: string, uri: string): string | undefined {
  if (!uri.startsWith(`${root}/`) || /[?#]/.test(uri)) return undefined;
  try {
    const segments = uri
      .slice(root.length + 1)
      .split('/')
      .map(decodeURIComponent);
    return segments.every(isPlain) ? segments.join('/') : undefined;
  } catch {
    // A percent sign that encodes nothing.
    return undefined;
  }
}

/** Whether a name stands for itself in a path, on any system. */
function isPlain(segment: string): boolean {
  const isName = segment !== '' && segment !== '.' && segment !== '..';
  return isName && !/[/\\]/.test(segment) && !segment.includes('\0');
}

/** What is wrong with a frontmatter; undefined if nothing is. */
function validateFrontmatter(frontmatter: unknown): string | undefined {
  if (!isJsonObject(frontmatter)) {
    return `"frontmatter" must be an object, this is ${inspectValue(frontmatter)}`;
  }
  const { name, description } = frontmatter;
  if (typeof name !== 'string' || name.length > 64 || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    const wanted = '1 to 64 lowercase letters, digits and single hyphens';
    return `"name" must be ${wanted}, this is ${inspectValue(name)}`;
  }
  const isText =
    typeof description === 'string' && description !== '' && description.length <= 2048;
  if (!isText || [...description].length > 1024) {
    return `"description" must be a text of 1 to 1024 characters, this is ${inspectValue(description)}`;
  }
  return undefined;
}

/** What is wrong with a skill that a server names; undefined if nothing is, and it is a {@link ListedSkill}. */
export function validateSkill({ uri, frontmatter, resources }: JsonObject): string | undefined {
  const fault = validateFrontmatter(frontmatter);
  if (fault !== undefined) return fault;
  const { name } = frontmatter as SkillFrontmatter;
  if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\//i.test(uri) || /[?#]/.test(uri)) {
    return `"uri" must be a URI with a path, this is ${inspectValue(uri)}`;
  }
  if (!uri.endsWith(`/${name}/${skillFileName}`)) {
    return `"uri" must end in /${name}/${skillFileName}, this is ${inspectValue(uri)}`;
  }
  if (resources === 'dynamic') return undefined;
  if (!Array.isArray(resources)) {
    return `"resources" must be a list or "dynamic", this is ${inspectValue(resources)}`;
  }
  return validateFiles(uri, resources);
}

function validateFiles(uri: string, files: readonly unknown[]): string | undefined {
  if (files.length > skillBounds.files) return `it has more than ${skillBounds.files} files`;
  const root = skillRoot(uri);
  const paths = new Set<string>();
  let bytes = 0;
  for (const [at, file] of files.entries()) {
    const { uri: of, digest, size } = isJsonObject(file) ? file : {};
    const path = typeof of === 'string' ? pathBelow(root, of) : undefined;
    const where = `resources[${at}]`;
    if (path === undefined)
      return `"${where}.uri" must be a file below ${root}, this is ${inspectValue(of)}`;
    if (paths.has(path)) return `"${where}.uri" is there twice: ${inspectValue(of)}`;
    if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
      return `"${where}.digest" must be sha256: and 64 hex digits, this is ${inspectValue(digest)}`;
    }
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      return `"${where}.size" must be a number of bytes, this is ${inspectValue(size)}`;
    }
    paths.add(path);
    bytes += size as number;
  }
  if (bytes > skillBounds.bytes) return `its files have more than ${skillBounds.bytes} bytes`;
  return paths.has(skillFileName) ? undefined : `"resources" must have ${skillFileName}`;
}

/** The digest of a file's bytes, as a skill names it. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(
    await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>),
  );
  return `sha256:${[...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * The frontmatter of a `SKILL.md`, as JSON.
 *
 * @throws {SyntaxError} there is none, it is longer than {@link skillBounds} says, or is not YAML
 */
export async function readFrontmatter(text: string): Promise<JsonObject> {
  const { frontmatterBytes } = skillBounds;
  const [, yaml] =
    /^\uFEFF?---[ \t]*\r?\n((?:[^]*?\r?\n)?)---[ \t]*(?:\r?\n|$)/.exec(
      text.slice(0, frontmatterBytes),
    ) ?? [];
  if (yaml === undefined) {
    throw new SyntaxError(
      `It must begin with a line ---, YAML and another line ---, within ${frontmatterBytes} bytes`,
    );
  }
  // Loaded once a skill is read: nothing else needs it.
  const { Parser, parse } = await import('yaml');
  let json: string;
  try {
    // What is nested deeply would exhaust the stack, and then a regular expression of the parser ends the process.
    if (depthOf([...new Parser().parse(yaml)]) > maxDepth)
      throw new Error('it is nested too deeply');
    const options = { prettyErrors: false, logLevel: 'error', maxAliasCount } as const;
    json = JSON.stringify(parse(yaml, options)) ?? '';
  } catch (error) {
    const what = `Its frontmatter is not YAML: ${(error as Error).message}`;
    throw new SyntaxError(what, { cause: error });
  }
  // Each alias repeats what it names.
  if (json.length > maxExpanded) {
    throw new SyntaxError(
      `Its frontmatter must be at most ${maxExpanded} characters with its aliases expanded, got ${json.length}`,
    );
  }
  const value: unknown = json === '' ? undefined : JSON.parse(json);
  if (isJsonObject(value)) return value;
  throw new SyntaxError(`Its frontmatter must be a mapping, this is ${inspectValue(value)}`);
}

/** Aliases of one frontmatter: they bound the text that is built before it is measured. */
const maxAliasCount = 16;

/** Characters of the frontmatter as JSON, whose quotes and escapes are longer than YAML's. */
const maxExpanded = 2 * skillBounds.frontmatterBytes;

/** Of YAML's tokens and their lists: three for each of 32 levels, and for the document around them. */
const maxDepth = 3 * (1 + 32);

/** How deep tokens are nested. Without recursion: it is there to bound that. */
function depthOf(tokens: object): number {
  let deepest = 0;
  const left: (readonly [object, number])[] = [[tokens, 0]];
  for (let next = left.pop(); next; next = left.pop()) {
    const [token, depth] = next;
    deepest = Math.max(deepest, depth);
    for (const part of Object.values(token) as readonly unknown[]) {
      if (typeof part === 'object' && part) left.push([part, depth + 1]);
    }
  }
  return deepest;
}
