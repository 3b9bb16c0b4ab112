import { isJsonObject } from '../classify.ts';
import type { ContentBlock, ResourceContents } from '../content.ts';
import type { DisplayInfo } from '../display-info.ts';
import type { FormDescription } from '../form.ts';
import type { JsonObject, WireError } from '../frames.ts';
import type { Implementation } from '../implementation.ts';
import { undeclared, noBatches } from './2024-11-05.ts';
import { Dialect20250326 } from './2025-03-26.ts';
import type { MissingCapability, ToolItem } from './dialect.ts';
import { plainForm } from './form-schema.ts';
import { pick, omit } from './members.ts';
import type { WireObject } from './members.ts';

/**
 * Removes batches. Adds structured output, titles, `_meta`, resource links, form elicitation and
 * completion context. Extensions may be declared from here on; they add their data in `_meta`.
 */
export class Dialect20250618 extends Dialect20250326 {
  override readonly version: string = '2025-06-18';

  protected override capabilities(capabilities: JsonObject): JsonObject {
    return { ...super.capabilities(capabilities), ...pick(capabilities, 'extensions') };
  }

  protected override implementation(info: Implementation): JsonObject {
    return { ...super.implementation(info), ...pick(info, 'title') };
  }

  override batchRefusal(): WireError | undefined {
    return noBatches;
  }

  override tool(tool: ToolItem): WireObject {
    const wire = super.tool(tool);
    if (tool.outputSchema) wire['outputSchema'] = tool.outputSchema;
    return wire;
  }

  protected override addStructured(wire: WireObject, structured: JsonObject): void {
    wire['structuredContent'] = structured;
  }

  protected override describe(item: DisplayInfo, wire: WireObject): void {
    super.describe(item, wire);
    if (item.title !== undefined) wire['title'] = item.title;
    if (item._meta) wire['_meta'] = item._meta;
  }

  protected override annotations(annotations: object): JsonObject {
    return { ...annotations };
  }

  protected override block(block: ContentBlock): ContentBlock {
    return block.type === 'resource_link' ? omit(block, 'icons') : block;
  }

  override contents(contents: ResourceContents): ResourceContents {
    return contents;
  }

  override completionContext(params: JsonObject | undefined): unknown {
    return params?.['context'];
  }

  /**
   * `elicitation: {}` means forms; `{ url: {} }` alone does not.
   * @see MCP 2025-11-25, client/elicitation, "Capabilities"
   */
  protected override missingForForm(elicitation: unknown): MissingCapability | undefined {
    if (!isJsonObject(elicitation)) return undeclared('elicitation');
    const hasForms = isJsonObject(elicitation['form']) || elicitation['url'] === undefined;
    return hasForms ? undefined : undeclared('elicitation.form');
  }

  override form(message: string, form: FormDescription): JsonObject {
    return { message, requestedSchema: plainForm(form, this.version) };
  }
}
