/**
 * The skills of a server, for its host: each file is checked against what the server said of it.
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

/** A file of a skill, as a host has read it. */
export interface SkillContents {
  /** What it was read by. */
  readonly uri: string;
  /** The media type, if the server said one. */
  readonly mimeType?: string;
  /** What its digest is of. */
  readonly bytes: Uint8Array;
  /** The same as text; absent if it is not UTF-8. */
  readonly text?: string;
  /** Whether size and digest are those of the skill's entry: false only for a skill that is `dynamic`. */
  readonly isVerified: boolean;
}

/** How one request about skills is sent. */
export type SkillRequestOptions = Pick<OwnRequestOptions, 'signal' | 'timeoutMs'>;

/**
 * The skills of a connection's server. Nothing is kept here and nothing read ahead: a skill is what the host holds.
 *
 * What skills say is a stranger's text for the model, and a digest does not change that. Whether a skill is loaded, and
 * what it may do, is for the host and its user to say; an approval belongs to the server, the URI and `resources`.
 */
export interface ServerSkills {
  /**
   * All skills that the server lists; it may have others. One that is not as it must be is left out and reported.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server declares no skills; as the connection's `request` does
   */
  list(options?: SkillRequestOptions): Promise<readonly ListedSkill[]>;
  /**
   * A skill by the URI of its `SKILL.md`, listed or not.
   *
   * @throws {ProtocolError} -32602: there is none; {RuntimeError} INVALID_RESPONSE; as {@link list}
   */
  get(uri: string, options?: SkillRequestOptions): Promise<ListedSkill>;
  /**
   * Reads a file, and checks it against the entry that the host holds.
   *
   * @param path in the skill, as the skill's own texts name it, or the file's URI; `SKILL.md` by default
   * @throws {RuntimeError} UNVERIFIED: the entry has no such file, or what came has another size, digest or
   *   frontmatter. Do not use it: {@link get} tells whether the skill has changed. As {@link list}
   */
  read(skill: ListedSkill, path?: string, options?: SkillRequestOptions): Promise<SkillContents>;
  /**
   * What is in a directory of a skill now, such as `skill://forms/templates`. It adds nothing to a skill that the host
   * holds.
   *
   * @throws {RuntimeError} CAPABILITY_MISSING: the server does not read directories; as {@link list}
   */
  readDirectory(uri: string, options?: SkillRequestOptions): Promise<readonly ListedResource[]>;
}

/** The connection, as its skills see it. */
export interface SkillsHost extends Omit<ListSource, 'capabilities'> {
  /** The server's name, for messages. */
  readonly name: string;
  /** Resolves to what the server has declared, once that is known. */
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

/** @param host the connection whose server has them */
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
        : `"skill" must be an object, this is ${inspectValue(skill)}`;
      if (fault === undefined) return skill as ListedSkill;
      const message = `${host.name} answered skills/get for ${inspectValue(uri)} with what is not that skill: ${fault}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    },
    async read(skill, path = skillFileName, options = {}) {
      const fault = validateSkill(skill);
      if (fault !== undefined)
        throw new TypeError(`The skill to read is not as it must be: ${fault}`);
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
  const advice = `It must not be used; skills/get says what the skill ${inspectValue(skill)} is now`;
  return new RuntimeError('UNVERIFIED', `${inspectValue(uri)} ${what}. ${advice}`);
}

/** The file that a path or a URI names. Another spelling of it is another name: it is asked for by the entry's own. */
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
  throw unverified(given, 'is no file of the skill', skill);
}

/** A path from the skill's directory without detours; undefined if it leads out of it. */
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
  if (!bytes) throw refuse('came without its contents');
  const { length } = bytes;
  if (file && length !== file.size) throw refuse(`has ${length} bytes, and not ${file.size}`);
  if (length > skillBounds.bytes) throw refuse(`has more than ${skillBounds.bytes} bytes`);
  if (file && (await sha256Of(bytes)) !== file.digest)
    throw refuse(`has not the digest ${file.digest}`);
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

/** What a `SKILL.md` says otherwise than the entry; undefined if nothing. */
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
  return other === undefined
    ? undefined
    : `says another ${inspectValue(other)} of itself than the entry`;
}

/** Whether two values of JSON are the same; the order of members does not count. */
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
