/**
 * Skills on the wire: directories of instructions for a model, readable as resources.
 *
 * @see SEP-2640; https://agentskills.io/specification
 */
import { inspectValue, isJsonObject } from './classify.ts';
import type { JsonObject } from './frames.ts';

/** Extension identifier in a server's capabilities. */
export const skillsExtension = 'io.modelcontextprotocol/skills';

export const skillMethods = ['skills/list', 'skills/get', 'resources/directory/read'] as const;

/** Media type of directories in `resources/directory/read`. */
export const directoryMimeType = 'inode/directory';

/** The file that every skill has. */
export const skillFileName = 'SKILL.md';

/** URI scheme of skills. */
export const skillScheme = 'skill://';

/** Limits of a skill that every host accepts. Larger skills are rejected. */
export const skillBounds = { files: 512, bytes: 16 * 1024 * 1024, frontmatterBytes: 16 * 1024 };

/** A file of a skill. */
export interface SkillFile {
  /** URI to read the file by. */
  readonly uri: string;
  /** `sha256:` followed by the digest of its bytes, 64 lowercase hex digits. */
  readonly digest: string;
  /** Size in bytes. */
  readonly size: number;
}

/** The frontmatter of `SKILL.md`, as JSON. */
export interface SkillFrontmatter extends JsonObject {
  /** 1 to 64 lowercase letters, digits and single hyphens. Not unique. */
  readonly name: string;
  /** Purpose of the skill and when to use it, for the model. At most 1,024 characters. */
  readonly description: string;
}

/**
 * A skill in the result of `skills/list` or `skills/get`. Untrusted like everything from a server:
 * the digests prove only that content belongs to the skill.
 *
 * @see SEP-2640, "Skill Entries"
 */
export interface ListedSkill extends JsonObject {
  /** URI of its `SKILL.md`, unique in the server. */
  readonly uri: string;
  /** The frontmatter of its `SKILL.md`. */
  readonly frontmatter: SkillFrontmatter;
  /** All files, including `SKILL.md`; `dynamic` if they are generated when read. */
  readonly resources: readonly SkillFile[] | 'dynamic';
}

/** The directory of a skill: the URI of its `SKILL.md` without the file name. */
export const skillRoot = (uri: string): string => uri.slice(0, -skillFileName.length - 1);

/** Encodes a path for a URI. */
export const encodedPath = (path: string): string =>
  path.split('/').map(encodeURIComponent).join('/');

/** The decoded path of a URI below a directory; undefined if the URI is elsewhere. */
export function pathBelow(root: string, uri: string): string | undefined {
  if (!uri.startsWith(`${root}/`) || /[?#]/.test(uri)) return undefined;
  try {
    const segments = uri
      .slice(root.length + 1)
      .split('/')
      .map(decodeURIComponent);
    return segments.every(isPlain) ? segments.join('/') : undefined;
  } catch {
    // Malformed percent-encoding.
    return undefined;
  }
}

/** True for a plain path segment on any system. */
function isPlain(segment: string): boolean {
  const isName = segment !== '' && segment !== '.' && segment !== '..';
  return isName && !/[/\\]/.test(segment) && !segment.includes('\0');
}

/** Validates a frontmatter. Returns the problem, or undefined if valid. */
function validateFrontmatter(frontmatter: unknown): string | undefined {
  if (!isJsonObject(frontmatter)) {
    return `"frontmatter" must be an object, got ${inspectValue(frontmatter)}`;
  }
  const { name, description } = frontmatter;
  if (typeof name !== 'string' || name.length > 64 || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    const wanted = '1 to 64 lowercase letters, digits and single hyphens';
    return `"name" must be ${wanted}, got ${inspectValue(name)}`;
  }
  const isText =
    typeof description === 'string' && description !== '' && description.length <= 2048;
  if (!isText || [...description].length > 1024) {
    return `"description" must be a string of 1 to 1024 characters, got ${inspectValue(description)}`;
  }
  return undefined;
}

/** Validates a {@link ListedSkill} from a server. Returns the problem, or undefined if valid. */
export function validateSkill({ uri, frontmatter, resources }: JsonObject): string | undefined {
  const fault = validateFrontmatter(frontmatter);
  if (fault !== undefined) return fault;
  const { name } = frontmatter as SkillFrontmatter;
  if (typeof uri !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\//i.test(uri) || /[?#]/.test(uri)) {
    return `"uri" must be a URI with a path, got ${inspectValue(uri)}`;
  }
  if (!uri.endsWith(`/${name}/${skillFileName}`)) {
    return `"uri" must end in /${name}/${skillFileName}, got ${inspectValue(uri)}`;
  }
  if (resources === 'dynamic') return undefined;
  if (!Array.isArray(resources)) {
    return `"resources" must be an array or "dynamic", got ${inspectValue(resources)}`;
  }
  return validateFiles(uri, resources);
}

function validateFiles(uri: string, files: readonly unknown[]): string | undefined {
  if (files.length > skillBounds.files)
    return `"resources" must have at most ${skillBounds.files} files, got ${files.length}`;
  const root = skillRoot(uri);
  const paths = new Set<string>();
  let bytes = 0;
  for (const [at, file] of files.entries()) {
    const { uri: of, digest, size } = isJsonObject(file) ? file : {};
    const path = typeof of === 'string' ? pathBelow(root, of) : undefined;
    const where = `resources[${at}]`;
    if (path === undefined)
      return `"${where}.uri" must be a file below ${root}, got ${inspectValue(of)}`;
    if (paths.has(path)) return `"${where}.uri" must be unique, got ${inspectValue(of)} twice`;
    if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest)) {
      return `"${where}.digest" must be sha256: and 64 hex digits, got ${inspectValue(digest)}`;
    }
    if (!Number.isSafeInteger(size) || (size as number) < 0) {
      return `"${where}.size" must be a number of bytes, got ${inspectValue(size)}`;
    }
    paths.add(path);
    bytes += size as number;
  }
  if (bytes > skillBounds.bytes)
    return `"resources" must have at most ${skillBounds.bytes} bytes, got ${bytes}`;
  return paths.has(skillFileName) ? undefined : `"resources" must have ${skillFileName}`;
}

/** The digest of a file's bytes, in the format of skills. */
export async function sha256Of(bytes: Uint8Array): Promise<string> {
  const hash = new Uint8Array(
    await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>),
  );
  return `sha256:${[...hash].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

/**
 * Parses the frontmatter of a `SKILL.md`.
 *
 * @throws {SyntaxError} the frontmatter is missing, longer than {@link skillBounds} allows, or not
 *   YAML
 */
export async function readFrontmatter(text: string): Promise<JsonObject> {
  const { frontmatterBytes } = skillBounds;
  const [, yaml] =
    /^\uFEFF?---[ \t]*\r?\n((?:[^]*?\r?\n)?)---[ \t]*(?:\r?\n|$)/.exec(
      text.slice(0, frontmatterBytes),
    ) ?? [];
  if (yaml === undefined) {
    throw new SyntaxError(
      `The file must begin with a line ---, YAML and another line ---, within ${frontmatterBytes} bytes`,
    );
  }
  // Loaded on demand: only skills need it.
  const { Parser, parse } = await import('yaml');
  let json: string;
  try {
    // Deep nesting would exhaust the stack, after which one of the parser's regular expressions
    // ends the process.
    if (depthOf([...new Parser().parse(yaml)]) > maxDepth)
      throw new Error('it is nested too deeply');
    const options = { prettyErrors: false, logLevel: 'error', maxAliasCount } as const;
    json = JSON.stringify(parse(yaml, options)) ?? '';
  } catch (error) {
    const what = `The frontmatter is not YAML: ${(error as Error).message}`;
    throw new SyntaxError(what, { cause: error });
  }
  // Each alias repeats its content.
  if (json.length > maxExpanded) {
    throw new SyntaxError(
      `The frontmatter must be at most ${maxExpanded} characters with its aliases expanded, got ${json.length}`,
    );
  }
  const value: unknown = json === '' ? undefined : JSON.parse(json);
  if (isJsonObject(value)) return value;
  throw new SyntaxError(`The frontmatter must be a mapping, got ${inspectValue(value)}`);
}

/** Maximum number of aliases, which bounds the expanded text before it is measured. */
const maxAliasCount = 16;

/** Maximum length of the frontmatter as JSON, which is longer than YAML. */
const maxExpanded = 2 * skillBounds.frontmatterBytes;

/** Maximum depth of the parser's tokens: three per level, for 32 levels and the document. */
const maxDepth = 3 * (1 + 32);

/** Nesting depth of tokens. Iterative, because recursion is what it guards against. */
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
