import type { ContentBlock } from '../content.ts';
import { ErrorCode } from '../errors.ts';
import type { JsonObject, RequestId, WireError } from '../frames.ts';
import { Dialect20241105 } from './2024-11-05.ts';
import type { ProgressReport, ToolItem } from './dialect.ts';
import { pick } from './members.ts';
import type { WireObject } from './members.ts';

/**
 * Adds tool annotations, audio and progress messages. The only revision that requires support for
 * batches.
 */
export class Dialect20250326 extends Dialect20241105 {
  override readonly version: string = '2025-03-26';

  override missingForCompletion({ completions }: JsonObject): string | undefined {
    return completions === undefined ? 'completions' : undefined;
  }

  protected override capabilities(capabilities: JsonObject): JsonObject {
    return { ...super.capabilities(capabilities), ...pick(capabilities, 'completions') };
  }

  /** @see MCP 2025-03-26, basic, "Batching" */
  override batchRefusal(messages: number, maxMessages: number): WireError | undefined {
    if (messages <= maxMessages) return undefined;
    const message = `Invalid request: a batch must have at most ${maxMessages} messages, got ${messages}`;
    return { code: ErrorCode.invalidRequest, message };
  }

  override tool(tool: ToolItem): WireObject {
    const wire = super.tool(tool);
    if (tool.annotations) wire['annotations'] = tool.annotations;
    return wire;
  }

  protected override block(block: ContentBlock): ContentBlock {
    return block.type === 'audio' ? this.plain(block) : super.block(block);
  }

  override progress(token: RequestId, step: ProgressReport): JsonObject {
    return { ...super.progress(token, step), ...pick(step, 'message') };
  }

  protected override checkModality(): void {}
}
