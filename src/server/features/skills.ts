/**
 * Skills: listing them, and what is in their directories. Their files are read as resources.
 *
 * @see SEP-2640
 */
import type { RequestContext } from '../../actors/request-context.ts';
import { describeFile, fileIn, listedSkill } from '../define/skill.ts';
import type { FileOfSkill, Skill } from '../define/skill.ts';
import type { ResourceDescription } from '../define/resource.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { utf8Of } from '../../protocol/content.ts';
import { invalidParams } from '../../protocol/errors.ts';
import { directoryMimeType, pathBelow, skillsExtension } from '../../protocol/skills.ts';
import { scopeOfCall } from '../session/session-scope.ts';
import type { Feature, InForce } from './feature.ts';
import { stringParam, unknownName } from './feature.ts';
import { pageByUri } from './pagination.ts';
import type { HandlerContext } from '../context/handler-context.ts';
import type { OfferedSkills } from './registry.ts';

/** Reads a file. What is UTF-8 is text. */
export async function readSkillFile(
  { skill, path }: FileOfSkill,
  context: HandlerContext,
): Promise<string | Uint8Array> {
  const content: unknown = await skill.files.get(path)?.read(context);
  if (typeof content === 'string') return content;
  if (content instanceof Uint8Array) return utf8Of(content) ?? content;
  const wanted = 'must give a string or bytes';
  throw new TypeError(
    `Reading ${inspectValue(path)} of ${skill.uri} ${wanted}, this is ${inspectValue(content)}`,
  );
}

/** The methods of skills. */
export function skillsFeature(skills: OfferedSkills, inForce: InForce): Feature {
  const cached = () => skills.cachedAs(inForce.caching.skills);
  return {
    capabilities: { extensions: { [skillsExtension]: { directoryRead: true } } },
    handlers: {
      'skills/list': async (params, call) => {
        const seen = await skills.seenIn(call);
        const { items, ...next } = pageByUri('skills/list', seen, params, pageSizeOf(call));
        const listed = await Promise.all(items.map(listedSkill));
        return call.request.peer.dialect.cacheable({ skills: listed, ...next }, cached());
      },
      'skills/get': async (params, call) => {
        const uri = stringParam(params, 'uri');
        const seen = await skills.seenIn(call);
        const skill = seen.find((each) => each.uri === uri);
        if (!skill)
          throw unknownName(
            'skill',
            uri,
            seen.map((each) => each.uri),
          );
        const result = { skill: await listedSkill(skill) };
        return call.request.peer.dialect.cacheable(result, cached());
      },
      'resources/directory/read': async (params, call) => {
        const uri = stringParam(params, 'uri');
        const children = childrenOf(uri, await skills.seenIn(call));
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
 * What is in a directory, by URI.
 *
 * @throws {ProtocolError} -32602: there is no directory with this URI
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
  const what = fileIn(skills, uri) ? 'is a file, not a directory' : 'is no directory of a skill';
  throw invalidParams(`${inspectValue(uri)} ${what}`);
}
