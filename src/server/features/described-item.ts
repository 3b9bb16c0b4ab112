/** What tools, resources and prompts say of themselves, as a revision's clients know it. */
import type { JsonObject } from '../../protocol/frames.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { Described } from '../described.ts';

/** `title`, `description`, `icons` and `_meta`, where they are given and known. */
export function describedBy(
  { title, description, icons, _meta }: Described,
  revision: Revision,
): JsonObject {
  return {
    ...(title !== undefined && revision.structuredOutput ? { title } : {}),
    ...(description === undefined ? {} : { description }),
    ...(icons && revision.icons ? { icons } : {}),
    ...(_meta && revision.structuredOutput ? { _meta } : {}),
  };
}

/** Annotations of a resource, a template or a content block: `lastModified` is as old as titles are. */
export function annotationsFor(annotations: object, revision: Revision): JsonObject {
  return { ...(revision.structuredOutput ? annotations : without(annotations, 'lastModified')) };
}

/** A copy without these members. */
export function without<T extends object>(value: T, ...names: readonly string[]): T {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as T;
}
