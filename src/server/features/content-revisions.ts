/** Content blocks as a revision's clients know them: of what one does not know it is told in words. */
import type { JsonObject } from '../../protocol/frames.ts';
import type { Revision } from '../../protocol/revisions/revision.ts';
import type { ContentBlock, ResourceContents } from '../content.ts';
import { annotationsFor, without } from './described-item.ts';

/** Blocks that a client of this revision can read, one for each. */
export function blocksFor(
  blocks: readonly ContentBlock[],
  revision: Revision,
): readonly ContentBlock[] {
  // The latest ones know everything.
  return revision.icons ? blocks : blocks.map((block) => blockFor(block, revision));
}

function blockFor(block: ContentBlock, revision: Revision): ContentBlock {
  if (revision.structuredOutput) {
    return block.type === 'resource_link' ? without(block, 'icons') : block;
  }
  const common = commonOf(block, revision);
  if (block.type === 'audio' && !revision.audio) {
    const text = `[Audio, ${block.mimeType}: a client of MCP ${revision.version} cannot be sent it]`;
    return { type: 'text', text, ...common };
  }
  if (block.type === 'resource_link') {
    return { type: 'text', text: linkText(block), ...common };
  }
  const known = { ...without(block, 'annotations', '_meta'), ...common };
  if (known.type !== 'resource') return known;
  return { ...known, resource: contentsFor(known.resource, revision) };
}

/** The contents of a resource, embedded or read, with what the revision knows. */
export function contentsFor(contents: ResourceContents, revision: Revision): ResourceContents {
  return revision.structuredOutput ? contents : without(contents, '_meta');
}

function commonOf(
  { annotations }: ContentBlock,
  revision: Revision,
): { readonly annotations?: JsonObject } {
  return annotations ? { annotations: annotationsFor(annotations, revision) } : {};
}

function linkText({
  name,
  title = name,
  uri,
  description,
}: Extract<ContentBlock, { readonly type: 'resource_link' }>): string {
  return `${title}: ${uri}${description === undefined ? '' : ` (${description})`}`;
}
