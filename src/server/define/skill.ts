/**
 * Definition of skills: directories of instructions for a model.
 *
 * @see SEP-2640; https://agentskills.io/specification
 */
import { withAuthorStack } from '../../protocol/author-stack.ts';
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
import { checkItem } from './item-rules.ts';
import type { ItemRules } from './item-rules.ts';
import type { ResourceDescription } from './resource.ts';
import { checkVisibilityOptions } from './visible.ts';
import type { VisibilityOptions } from './visible.ts';

/** Contents of a skill file: text, bytes, or a function that returns them per request. */
export type SkillFileSource =
  | string
  | Uint8Array
  | ((context: HandlerContext) => string | Uint8Array | Promise<string | Uint8Array>);

/** Input of {@link defineSkill}. */
export interface SkillSpecification extends VisibilityOptions {
  /** 1 to 64 lowercase letters, digits and single hyphens. */
  readonly name: string;
  /** Tells the model what the skill does and when to use it. At most 1,024 characters. */
  readonly description: string;
  /** Additional frontmatter of `SKILL.md`: `license`, `compatibility`, `metadata` and others. */
  readonly frontmatter?: JsonObject;
  /** Parent directory of the skill, such as `acme/billing`. Default: the root. */
  readonly directory?: string;
  /** Markdown body of `SKILL.md`. */
  readonly instructions: string;
  /**
   * Additional files by relative path, such as `references/forms.md`. A function makes the skill `dynamic`: it has no
   * digests, so hosts cannot verify it and may reject it.
   */
  readonly files?: { readonly [path: string]: SkillFileSource };
}

/** A served skill file. Size and digest are absent if the content is generated on each read. */
export interface ServedSkillFile {
  /** Size, bytes. */
  readonly size?: number;
  /** SHA-256 digest of the bytes: `sha256:` and 64 hex digits. */
  readonly digest?: () => Promise<string>;
  /** Reads the content. Valid UTF-8 is sent as text. */
  read(context: HandlerContext): string | Uint8Array | Promise<string | Uint8Array>;
}

/** A defined skill, created by {@link defineSkill} or found by `skillsFrom`. */
export interface Skill extends VisibilityOptions {
  /** URI of `SKILL.md`. */
  readonly uri: string;
  /** Frontmatter of `SKILL.md`. */
  readonly frontmatter: SkillFrontmatter;
  /** All files including `SKILL.md`, by relative path. */
  readonly files: ReadonlyMap<string, ServedSkillFile>;
}

/** Returns the current skills for a caller. The first of several skills with the same URI wins. */
export type SkillFinder = (context: HandlerContext) => readonly Skill[] | Promise<readonly Skill[]>;

const specificationRules: ItemRules = {
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
  misplaced: {
    license: 'must be a member of its "frontmatter"',
    compatibility: 'must be a member of its "frontmatter"',
    metadata: 'must be a member of its "frontmatter"',
    'allowed-tools': 'must be a member of its "frontmatter"',
  },
};

/** Validation rules of skills. */
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
  misplaced: { instructions: 'is unknown: pass it to defineSkill' },
  definedBy: { by: 'defineSkill', adds: 'files' },
};

/**
 * Defines a skill from inline files. `SKILL.md` is generated from the frontmatter and the instructions.
 *
 * @throws {TypeError} if a member is missing, unknown or violates https://agentskills.io/specification, or if the
 *   skill exceeds the number of files or bytes that every host accepts
 * @see SEP-2640
 */
export function defineSkill(skill: SkillSpecification): Skill {
  return withAuthorStack(defineSkill, () => {
    checkItem(skill, specificationRules);
    const { name, description, instructions, directory, files = {}, visible, tags } = skill;
    checkVisibilityOptions(skill, `the skill ${inspectValue(name)}`);
    const frontmatter = { name, description, ...skill.frontmatter };
    // JSON is valid YAML. Plain keys are easier to read.
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
  });
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
 * Creates a skill from its files.
 *
 * @param path directory of the skill below `skill://`
 * @throws {TypeError} naming the skill and the problem
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
      ? `its directory must be a relative path of names, got ${inspectValue(path)}`
      : validateSkill({ uri, frontmatter, resources });
  if (fault !== undefined) throw new TypeError(`The skill ${inspectValue(path)}: ${fault}`);
  return { uri, frontmatter: frontmatter as SkillFrontmatter, files };
}

/** Converts a skill to its wire form. */
export async function listedSkill({ uri, frontmatter, files }: Skill): Promise<ListedSkill> {
  const root = skillRoot(uri);
  const resources: SkillFile[] = [];
  for (const [path, { size, digest }] of files) {
    if (size === undefined || !digest) return { uri, frontmatter, resources: 'dynamic' };
    resources.push({ uri: `${root}/${encodedPath(path)}`, digest: await digest(), size });
  }
  return { uri, frontmatter, resources };
}

/** A skill file with its skill. */
export interface LocatedSkillFile {
  readonly skill: Skill;
  /** Path relative to the skill. */
  readonly path: string;
}

/** Finds the file with this URI. The first skill that has it wins. */
export function findSkillFile(skills: readonly Skill[], uri: string): LocatedSkillFile | undefined {
  for (const skill of skills) {
    const path = pathBelow(skillRoot(skill.uri), uri);
    if (path !== undefined && skill.files.has(path)) return { skill, path };
  }
  return undefined;
}

/** Resource description of a skill file. */
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

/** Media types by file extension. */
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
