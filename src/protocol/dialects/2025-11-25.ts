import { isJsonObject } from '../classify.ts';
import type { ContentBlock } from '../content.ts';
import { textBlock } from '../content.ts';
import type { DisplayInfo } from '../display-info.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject } from '../frames.ts';
import type { Implementation } from '../implementation.ts';
import { readTaskRequest } from '../tasks.ts';
import type { TaskRequest, TaskSupport } from '../tasks.ts';
import { undeclared, usesTools } from './2024-11-05.ts';
import { Dialect20250618 } from './2025-06-18.ts';
import type { ConversationMessage, MissingCapability, ToolItem } from './dialect.ts';
import { richForm } from './form-schema.ts';
import { pick } from './members.ts';
import type { WireObject } from './members.ts';

const taskMethods: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/cancel',
]);

/**
 * Reports invalid arguments as tool results. Adds icons, URL elicitation, richer forms, tools in
 * sampling, and tasks.
 */
export class Dialect20251125 extends Dialect20250618 {
  override readonly version: string = '2025-11-25';

  protected override capabilities(capabilities: JsonObject): JsonObject {
    return { ...super.capabilities(capabilities), ...pick(capabilities, 'tasks') };
  }

  protected override implementation(info: Implementation): JsonObject {
    return { ...super.implementation(info), ...pick(info, 'icons', 'websiteUrl') };
  }

  override firstEvent(id: string, retryMs: number): string {
    return `id: ${id}\nretry: ${retryMs}\ndata:\n\n`;
  }

  override offers(method: string): boolean {
    return super.offers(method) || taskMethods.has(method);
  }

  override tool(tool: ToolItem): WireObject {
    const wire = super.tool(tool);
    const { taskSupport } = tool;
    if (taskSupport) wire['execution'] = { taskSupport };
    return wire;
  }

  protected override describe(item: DisplayInfo, wire: WireObject): void {
    super.describe(item, wire);
    if (item.icons) wire['icons'] = item.icons;
  }

  /** Unchanged: the neutral form of blocks is that of this revision. */
  override content(blocks: readonly ContentBlock[]): readonly ContentBlock[] {
    return blocks;
  }

  override invalidArguments(message: string): JsonObject {
    return { content: [textBlock(message)], isError: true };
  }

  override taskRequest(
    tool: { readonly name: string; readonly taskSupport?: TaskSupport },
    params: JsonObject | undefined,
    _capabilities: JsonObject,
  ): TaskRequest | undefined {
    return readTaskRequest(tool, params);
  }

  /** @see MCP 2025-11-25, client/sampling, "Capabilities" */
  protected override missingForSampling(
    sampling: JsonObject,
    params: JsonObject | undefined,
  ): MissingCapability | undefined {
    if (usesTools(params) && !isJsonObject(sampling['tools'])) {
      return undeclared('sampling.tools');
    }
    // Older revisions have the parameter, but no capability for it.
    const asksForContext = (params?.['includeContext'] ?? 'none') !== 'none';
    return asksForContext && !isJsonObject(sampling['context'])
      ? undeclared('sampling.context')
      : undefined;
  }

  protected override missingForUrl(elicitation: unknown): MissingCapability | undefined {
    const hasUrls = isJsonObject(elicitation) && isJsonObject(elicitation['url']);
    return hasUrls ? undefined : undeclared('elicitation.url');
  }

  protected override messages({
    role,
    content,
    _meta,
  }: ConversationMessage): readonly JsonObject[] {
    return [
      {
        role,
        content: content.length === 1 ? content[0] : content,
        ...(_meta ? { _meta } : {}),
      },
    ];
  }

  override form(message: string, form: FormDescription): JsonObject {
    return { mode: 'form', message, requestedSchema: richForm(form) };
  }
}
