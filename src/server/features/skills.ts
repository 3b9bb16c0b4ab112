/**
 * Skill methods: lists of skills and of their directories. Skill files are read as resources.
 *
 * @see SEP-2640
 */
import type { RequestContext } from '../../actors/request-context.ts';
import { describeFile, findSkillFile, listedSkill } from '../define/skill.ts';
import type { LocatedSkillFile, Skill } from '../define/skill.ts';
import type { ResourceDescription } from '../define/resource.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { utf8Of } from '../../protocol/content.ts';
import { invalidParams } from '../../protocol/errors.ts';
import { directoryMimeType, pathBelow, skillsExtension } from '../../protocol/skills.ts';
import { scopeOfCall } from '../session/session-scope.ts';
import type { Feature, CurrentSettings } from './feature.ts';
import { stringParam, unknownNameError } from './feature.ts';
import { pageByUri } from './pagination.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { OfferedSkills } from './registry.ts';

/** Reads a skill file. Valid UTF-8 is returned as text. */
export async function readSkillFile(
  { skill, path }: LocatedSkillFile,
  context: HandlerContext,
): Promise<string | Uint8Array> {
  const content: unknown = await skill.files.get(path)?.read(context);
  if (typeof content === 'string') return content;
  if (content instanceof Uint8Array) return utf8Of(content) ?? content;
  const wanted = 'must return a string or bytes';
  throw new TypeError(
    `"read" of ${inspectValue(path)} in ${skill.uri} ${wanted}, got ${inspectValue(content)}`,
  );
}

/** Creates the skills feature. */
export function skillsFeature(skills: OfferedSkills, settings: CurrentSettings): Feature {
  const cached = () => skills.cacheHintsFor(settings.caching.skills);
  return {
    capabilities: { extensions: { [skillsExtension]: { directoryRead: true } } },
    handlers: {
      'skills/list': async (params, call) => {
        const seen = await skills.visibleIn(call);
        const { items, ...next } = pageByUri('skills/list', seen, params, pageSizeOf(call));
        const listed = await Promise.all(items.map(listedSkill));
        return call.request.peer.dialect.cacheable({ skills: listed, ...next }, cached());
      },
      'skills/get': async (params, call) => {
        const uri = stringParam(params, 'uri');
        const seen = await skills.visibleIn(call);
        const skill = seen.find((each) => each.uri === uri);
        if (!skill)
          throw unknownNameError(
            'skill',
            uri,
            seen.map((each) => each.uri),
          );
        const result = { skill: await listedSkill(skill) };
        return call.request.peer.dialect.cacheable(result, cached());
      },
      'resources/directory/read': async (params, call) => {
        const uri = stringParam(params, 'uri');
        const children = childrenOf(uri, await skills.visibleIn(call));
        const { dialect } = call.request.peer;
        const { items, ...next } = pageByUri(
          'resources/directory/read',
          children,
          params,
          pageSizeOf(call),
        );
        const resources = items.map((item) => dialect.resource(item));
        return dialect.cacheable({ resources, ...next }, cached());
      },
    },
  };
}

const pageSizeOf = (call: RequestContext): number => scopeOfCall(call).limits.pageSize;

/**
 * Entries of a directory, ordered by URI.
 *
 * @throws {ProtocolError} -32602 if there is no directory with this URI
 */
function childrenOf(uri: string, skills: readonly Skill[]): readonly ResourceDescription[] {
  const children = new Map<string, ResourceDescription>();
  for (const skill of skills) {
    for (const path of skill.files.keys()) {
      const file = describeFile(skill, path);
      const [name, ...more] = pathBelow(uri, file.uri)?.split('/') ?? [];
      if (name === undefined) continue;
      const below = file.uri.slice(uri.length + 1);
      const directory = { uri: `${uri}/${below.slice(0, below.indexOf('/'))}`, name };
      const child = more.length === 0 ? file : { ...directory, mimeType: directoryMimeType };
      if (!children.has(child.uri)) children.set(child.uri, child);
    }
  }
  if (children.size > 0) {
    return [...children.values()].sort((one, other) => (one.uri < other.uri ? -1 : 1));
  }
  const what = findSkillFile(skills, uri)
    ? 'is a file, not a directory'
    : 'is not a directory of a skill';
  throw invalidParams(`${inspectValue(uri)} ${what}`);
}
