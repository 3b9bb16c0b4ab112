/**
 * Skills of a server, for its host: each file is verified against the server's metadata.
 *
 * @see SEP-2640, "Integrity and Verification"
 */
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { bytesOf, utf8Of } from '../../../../src/protocol/content.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { ListedResource } from '../../../../src/protocol/list-items.ts';
import {
  sha256Of,
  encodedPath,
  validateSkill,
  pathBelow,
  readFrontmatter,
  skillBounds,
  skillFileName,
  skillRoot,
  skillsExtension,
} from '../../../../src/protocol/skills.ts';
import type { ListedSkill, SkillFile } from '../../../../src/protocol/skills.ts';
import { askPages } from './ask-list.actor.ts';
import type { ListSource, OwnRequestOptions } from './ask-list.actor.ts';
import { listKinds } from './list-kinds.ts';
import type { PagedKind } from './list-kinds.ts';
import type { ReadResourceResult } from './list-results.ts';

/** A file of a skill, as read by the host. */
export interface SkillContents {
  /** URI that it was read from. */
  readonly uri: string;
  /** Media type, if given by the server. */
  readonly mimeType?: string;
  /** Content covered by the digest. */
  readonly bytes: Uint8Array;
  /** The content as text; absent if not UTF-8. */
  readonly text?: string;
  /** True if size and digest match the skill's entry; false only for a `dynamic` skill. */
  readonly isVerified: boolean;
}

/** Options of one request about skills. */
export type SkillRequestOptions = Pick<OwnRequestOptions, 'signal' | 'timeoutMs'>;

/**
 * Skills of a connection's server. Nothing is cached or prefetched: the host keeps the skill
 * entries.
 *
 * Skill texts are untrusted input for the model, and a digest does not change that. The host and
 * its user decide whether a skill is loaded and what it may do; an approval applies to the server,
 * the URI and `resources`.
 */
export interface ServerSkills {
  /**
   * All skills that the server lists; it may have others. Invalid ones are dropped and reported.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server declares no skills; as the connection's
   *   `request` does
   */
  list(options?: SkillRequestOptions): Promise<readonly ListedSkill[]>;
  /**
   * A skill by the URI of its `SKILL.md`, listed or not.
   *
   * @throws {ProtocolError} -32602: unknown skill; {RuntimeError} INVALID_RESPONSE; as {@link list}
   */
  get(uri: string, options?: SkillRequestOptions): Promise<ListedSkill>;
  /**
   * Reads a file, and verifies it against the given entry.
   *
   * @param path within the skill, as its texts name it, or the file's URI. Default: `SKILL.md`
   * @throws {RuntimeError} UNVERIFIED: the entry lacks the file, or the size, digest or frontmatter
   *   differs. Do not use the content; {@link get} tells whether the skill has changed. As {@link
   *   list}
   */
  read(skill: ListedSkill, path?: string, options?: SkillRequestOptions): Promise<SkillContents>;
  /**
   * Current content of a directory of a skill, such as `skill://forms/templates`. Adds nothing to
   * the entry that the host holds.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server does not read directories; as {@link
   *   list}
   */
  readDirectory(uri: string, options?: SkillRequestOptions): Promise<readonly ListedResource[]>;
}

/** The connection as seen by its skills. */
export interface SkillsHost extends Omit<ListSource, 'capabilities'> {
  /** The server's name, for messages. */
  readonly name: string;
  /** Resolves to the declared capabilities, once known. */
  capabilities(options: SkillRequestOptions): Promise<JsonObject>;
  readResource(uri: string, options: SkillRequestOptions): Promise<ReadResourceResult>;
}

const skillsKind: PagedKind = {
  name: 'skills',
  method: 'skills/list',
  key: 'uri',
  required: {},
  optional: {},
  faultOf: validateSkill,
};

const directoryKind: PagedKind = {
  ...listKinds.resources,
  method: 'resources/directory/read',
};

/** @param host the connection to the server */
export function serverSkills(host: SkillsHost): ServerSkills {
  const assertDeclared = async (method: string, options: SkillRequestOptions) => {
    const { extensions } = await host.capabilities(options);
    const declared = isJsonObject(extensions) ? extensions[skillsExtension] : undefined;
    if (isJsonObject(declared)) {
      if (method !== directoryKind.method || declared['directoryRead'] === true) return;
    }
    const lacking = isJsonObject(declared)
      ? `"directoryRead" of ${skillsExtension}`
      : skillsExtension;
    const message = `${method} was not sent: ${host.name} does not declare ${lacking}`;
    throw new RuntimeError('CAPABILITY_MISSING', message);
  };
  return {
    async list(options = {}) {
      await assertDeclared('skills/list', options);
      return (await askPages(skillsKind, host, options)).items as readonly ListedSkill[];
    },
    async get(uri, options = {}) {
      await assertDeclared('skills/get', options);
      const { skill } = await host.request('skills/get', { uri }, options);
      const fault = isJsonObject(skill)
        ? (validateSkill(skill) ??
          (skill['uri'] === uri ? undefined : `it is ${inspectValue(skill['uri'])}`))
        : `"skill" must be an object, got ${inspectValue(skill)}`;
      if (fault === undefined) return skill as ListedSkill;
      const message = `Invalid result of skills/get for ${inspectValue(uri)} from ${host.name}: ${fault}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    },
    async read(skill, path = skillFileName, options = {}) {
      const fault = validateSkill(skill);
      if (fault !== undefined) throw new TypeError(`The skill to read is invalid: ${fault}`);
      await assertDeclared('resources/read', options);
      const { uri, file } = fileNamed(skill, path);
      const { contents } = await host.readResource(uri, options);
      return verified(skill, uri, file, contents);
    },
    async readDirectory(uri, options = {}) {
      await assertDeclared(directoryKind.method, options);
      return (await askPages(directoryKind, host, options, { uri }))
        .items as readonly ListedResource[];
    },
  };
}

function unverified(uri: string, what: string, { uri: skill }: ListedSkill): RuntimeError {
  const advice = `Do not use it; call skills/get for the current skill ${inspectValue(skill)}`;
  return new RuntimeError('UNVERIFIED', `${inspectValue(uri)} ${what}. ${advice}`);
}

/**
 * Finds a file by path or URI. Other spellings of a URI are other names: requests use the entry's
 * own.
 */
function fileNamed(
  skill: ListedSkill,
  given: string,
): { readonly uri: string; readonly file?: SkillFile } {
  const root = skillRoot(skill.uri);
  const [start = ''] = given.split('#');
  const paths = /^[a-z][a-z0-9+.-]*:/i.test(given)
    ? [pathBelow(root, start)]
    : [normalized(given), pathBelow(root, `${root}/${normalized(start) ?? ''}`)];
  const { resources } = skill;
  if (resources === 'dynamic') {
    const path = paths.find(
      (each) => each !== undefined && pathBelow(root, `${root}/${encodedPath(each)}`),
    );
    if (path !== undefined) return { uri: `${root}/${encodedPath(path)}` };
  } else {
    const file = resources.find(({ uri }) => paths.includes(pathBelow(root, uri)));
    if (file) return { uri: file.uri, file };
  }
  throw unverified(given, 'is not a file of the skill', skill);
}

/** Normalizes a path within the skill's directory; undefined if it leads out of it. */
function normalized(path: string): string | undefined {
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '..' ? names.pop() === undefined : name === '') return undefined;
    if (name !== '..' && name !== '.') names.push(name);
  }
  return names.join('/');
}

async function verified(
  skill: ListedSkill,
  uri: string,
  file: SkillFile | undefined,
  contents: ReadResourceResult['contents'],
): Promise<SkillContents> {
  const refuse = (what: string): RuntimeError => unverified(uri, what, skill);
  const content = contents.find((each) => each.uri === uri);
  const bytes = content && bytesOf(content);
  if (!bytes) throw refuse('was returned without contents');
  const { length } = bytes;
  if (file && length !== file.size) throw refuse(`must have ${file.size} bytes, got ${length}`);
  if (length > skillBounds.bytes) throw refuse(`must have at most ${skillBounds.bytes} bytes`);
  if (file && (await sha256Of(bytes)) !== file.digest)
    throw refuse(`does not match the digest ${file.digest}`);
  const text = utf8Of(bytes);
  if (uri === skill.uri) {
    const fault = await validateManifest(text, skill.frontmatter);
    if (fault !== undefined) throw refuse(fault);
  }
  const { mimeType } = content;
  return {
    uri,
    ...(mimeType === undefined ? {} : { mimeType }),
    bytes,
    ...(text === undefined ? {} : { text }),
    isVerified: file !== undefined,
  };
}

/** A difference between a `SKILL.md` and its entry. */
async function validateManifest(
  text: string | undefined,
  entry: JsonObject,
): Promise<string | undefined> {
  if (text === undefined) return 'is not UTF-8';
  let said: JsonObject;
  try {
    said = await readFrontmatter(text);
  } catch (error) {
    if (error instanceof SyntaxError) return `cannot be read: ${error.message}`;
    throw error;
  }
  const other = [...Object.keys(said), ...Object.keys(entry)].find(
    (key) =>
      !Object.hasOwn(said, key) || !Object.hasOwn(entry, key) || !isSame(said[key], entry[key]),
  );
  return other === undefined ? undefined : `differs from its entry in ${inspectValue(other)}`;
}

/** Compares two JSON values, regardless of the order of members. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || !one || !other) return one === other;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) && isSame(one[key as keyof object], other[key as keyof object]),
    )
  );
}
