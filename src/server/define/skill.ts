/**
 * Skills, as authors write them: directories of instructions for a model.
 *
 * @see SEP-2640; https://agentskills.io/specification
 */
import { inspectValue } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import {
  sha256Of,
  encodedPath,
  validateSkill,
  pathBelow,
  skillFileName,
  skillRoot,
  skillScheme,
} from '../../protocol/skills.ts';
import type { ListedSkill, SkillFile, SkillFrontmatter } from '../../protocol/skills.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import { checkItem } from './item-faults.ts';
import type { ItemRules } from './item-faults.ts';
import type { ResourceDescription } from './resource.ts';
import { checkForSome } from './visible.ts';
import type { ForSome } from './visible.ts';

/** A file of a skill: its text, its bytes, or what makes them for each reader. */
export type SkillFileSource =
  | string
  | Uint8Array
  | ((context: HandlerContext) => string | Uint8Array | Promise<string | Uint8Array>);

/** What an author says of a skill; see {@link defineSkill}. */
export interface SkillSpecification extends ForSome {
  /** 1 to 64 lowercase letters, digits and single hyphens. */
  readonly name: string;
  /** For the model: what the skill is good for, and when. At most 1,024 characters. */
  readonly description: string;
  /** What else `SKILL.md` says of itself: `license`, `compatibility`, `metadata` and others. */
  readonly frontmatter?: JsonObject;
  /** The directory that the skill lies in, such as `acme/billing`; by default none. */
  readonly directory?: string;
  /** What `SKILL.md` says to the model, in Markdown. */
  readonly instructions: string;
  /**
   * The other files, by their paths in the skill, such as `references/forms.md`. With a function among them the skill is
   * `dynamic`: hosts cannot check what they read, and may refuse it.
   */
  readonly files?: { readonly [path: string]: SkillFileSource };
}

/** A file of a skill, as it is served. Without size and digest its content is made when it is read. */
export interface ServedSkillFile {
  /** Bytes. */
  readonly size?: number;
  /** The digest of its bytes: `sha256:` and 64 digits of hex. */
  readonly digest?: () => Promise<string>;
  /** Reads the content. What is UTF-8 is sent as text. */
  read(context: HandlerContext): string | Uint8Array | Promise<string | Uint8Array>;
}

/** A skill of a server; {@link defineSkill} makes one, and `skillsFrom` finds those of a directory. */
export interface Skill extends ForSome {
  /** The URI of its `SKILL.md`. */
  readonly uri: string;
  /** What its `SKILL.md` says of itself. */
  readonly frontmatter: SkillFrontmatter;
  /** All files, `SKILL.md` among them, by their paths in the skill. */
  readonly files: ReadonlyMap<string, ServedSkillFile>;
}

/** Finds the skills that exist now, for a caller. Of two with one URI the first counts. */
export type SkillFinder = (context: HandlerContext) => readonly Skill[] | Promise<readonly Skill[]>;

const specified: ItemRules = {
  kind: 'skill',
  key: 'name',
  strings: ['description', 'instructions'],
  functions: [],
  members: {
    name: true,
    description: true,
    frontmatter: true,
    directory: true,
    instructions: true,
    files: true,
    visible: true,
    tags: true,
  } satisfies Record<keyof SkillSpecification, true>,
  synonyms: { body: 'instructions', content: 'instructions', resources: 'files' },
  elsewhere: {
    license: 'belongs into its "frontmatter"',
    compatibility: 'belongs into its "frontmatter"',
    metadata: 'belongs into its "frontmatter"',
    'allowed-tools': 'belongs into its "frontmatter"',
  },
};

/** What a skill must have. */
export const skillRules: ItemRules = {
  kind: 'skill',
  key: 'uri',
  functions: [],
  members: {
    uri: true,
    frontmatter: true,
    files: true,
    visible: true,
    tags: true,
  } satisfies Record<keyof Skill, true>,
  synonyms: {},
  elsewhere: { instructions: 'belongs into defineSkill, which makes a skill of it' },
  defined: { by: 'defineSkill', adds: 'files' },
};

/**
 * Defines a skill whose files are given here. Its `SKILL.md` is written from what it says of itself and its
 * instructions.
 *
 * @throws {TypeError} a member is missing or unknown, or breaks a rule of https://agentskills.io/specification; there
 *   are more files or bytes than every host takes
 */
export function defineSkill(skill: SkillSpecification): Skill {
  checkItem(skill, specified);
  const { name, description, instructions, directory, files = {}, visible, tags } = skill;
  checkForSome(skill, `the skill ${inspectValue(name)}`);
  const frontmatter = { name, description, ...skill.frontmatter };
  // JSON is YAML, too. A plain name is easier to read.
  const said = Object.entries(frontmatter).map(([key, value]) => {
    const isPlain = /^(?!(?:null|true|false)$)[a-z][a-z-]*$/.test(key);
    return `${isPlain ? key : JSON.stringify(key)}: ${JSON.stringify(value)}\n`;
  });
  const sources = { ...files, [skillFileName]: `---\n${said.join('')}---\n\n${instructions}` };
  const served = Object.entries(sources).map(
    ([path, source]) => [path, servedFile(source)] as const,
  );
  return {
    ...skillAt(
      directory === undefined ? name : `${directory}/${name}`,
      frontmatter,
      new Map(served),
    ),
    ...(visible ? { visible } : {}),
    ...(tags ? { tags } : {}),
  };
}

function servedFile(source: SkillFileSource): ServedSkillFile {
  if (typeof source === 'function') return { read: source };
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  let digest: Promise<string> | undefined;
  return {
    size: bytes.length,
    digest: () => (digest ??= sha256Of(bytes)),
    read: () => bytes,
  };
}

/**
 * A skill of these files.
 *
 * @param path of its directory, below `skill://`
 * @throws {TypeError} naming the skill, and what is wrong with it
 */
export function skillAt(
  path: string,
  frontmatter: JsonObject,
  files: ReadonlyMap<string, ServedSkillFile>,
): Skill {
  const uri = `${skillScheme}${encodedPath(path)}/${skillFileName}`;
  const root = skillRoot(uri);
  const resources = [...files].map(([file, { size = 0 }]) => ({
    uri: `${root}/${encodedPath(file)}`,
    digest: `sha256:${'0'.repeat(64)}`,
    size,
  }));
  const fault =
    pathBelow('skill:/', uri) === undefined
      ? `its directory must be a path of names, this is ${inspectValue(path)}`
      : validateSkill({ uri, frontmatter, resources });
  if (fault !== undefined) throw new TypeError(`The skill ${inspectValue(path)}: ${fault}`);
  return { uri, frontmatter: frontmatter as SkillFrontmatter, files };
}

/** A skill as its clients are told of it. */
export async function listedSkill({ uri, frontmatter, files }: Skill): Promise<ListedSkill> {
  const root = skillRoot(uri);
  const resources: SkillFile[] = [];
  for (const [path, { size, digest }] of files) {
    if (size === undefined || !digest) return { uri, frontmatter, resources: 'dynamic' };
    resources.push({ uri: `${root}/${encodedPath(path)}`, digest: await digest(), size });
  }
  return { uri, frontmatter, resources };
}

/** A file, and the skill that it is of. */
export interface FileOfSkill {
  readonly skill: Skill;
  /** In the skill. */
  readonly path: string;
}

/** The file with this URI, in the first of the skills that has it. */
export function fileIn(skills: readonly Skill[], uri: string): FileOfSkill | undefined {
  for (const skill of skills) {
    const path = pathBelow(skillRoot(skill.uri), uri);
    if (path !== undefined && skill.files.has(path)) return { skill, path };
  }
  return undefined;
}

/** A file of a skill as a resource. */
export function describeFile(
  { uri, frontmatter, files }: Skill,
  path: string,
): ResourceDescription {
  const size = files.get(path)?.size;
  const mimeType = mimeTypes[path.slice(path.lastIndexOf('.') + 1).toLowerCase()];
  const { name, description } = frontmatter;
  return {
    uri: `${skillRoot(uri)}/${encodedPath(path)}`,
    ...(path === skillFileName
      ? { name, description }
      : { name: path.slice(path.lastIndexOf('/') + 1) }),
    ...(mimeType === undefined ? {} : { mimeType }),
    ...(size === undefined ? {} : { size }),
  };
}

/** By the ending of a file's name. */
const mimeTypes: { readonly [ending: string]: string | undefined } = {
  css: 'text/css',
  csv: 'text/csv',
  gif: 'image/gif',
  html: 'text/html',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  sh: 'application/x-sh',
  svg: 'image/svg+xml',
  ts: 'text/typescript',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};
