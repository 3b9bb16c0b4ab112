/**
 * The parameters of a server's tools that are repeated in headers, as its lists declare them.
 *
 * @see MCP 2026-07-28, basic/transports/streamable-http, "Custom Headers from Tool Parameters"
 */
import type { Report } from '../../actors/facts.ts';
import { BoundedMap } from '../../protocol/bounded-map.ts';
import { isJsonObject } from '../../protocol/classify.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { quoted } from '../../protocol/printable.ts';
import { mirroredParameters } from '../../schema/mirrored-parameters.ts';
import type { MirroredParameter } from '../../schema/mirrored-parameters.ts';

/** As many tools as one list may have. */
const maxTools = 10_000;

export class ToolParameters {
  /** Of the tools that declare any. */
  readonly #declared = new BoundedMap<string, readonly MirroredParameter[]>(maxTools);
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Those of a tool; none if no list has named it. */
  of(tool: unknown): readonly MirroredParameter[] {
    return (typeof tool === 'string' ? this.#declared.get(tool) : undefined) ?? [];
  }

  /** Reads the result of `tools/list`; gives it without the tools that must not be called. */
  read(result: JsonObject): JsonObject {
    const { tools } = result;
    if (!Array.isArray(tools)) return result;
    const valid = (tools as readonly unknown[]).filter((tool) => this.#readTool(tool));
    return valid.length === tools.length ? result : { ...result, tools: valid };
  }

  #readTool(tool: unknown): boolean {
    // What is wrong with such a one is for those to say who read tools.
    if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return true;
    const { name, inputSchema } = tool;
    const mirrored = isJsonObject(inputSchema)
      ? mirroredParameters(inputSchema)
      : ({ ok: true, parameters: [] } as const);
    if (!mirrored.ok) {
      this.#declared.delete(name);
      const message = `The tool ${quoted(name)} is left out: ${mirrored.fault}`;
      this.#report({ level: 'warning', name: 'tool.leftOut', message });
      return false;
    }
    if (mirrored.parameters.length > 0) this.#declared.set(name, mirrored.parameters);
    else this.#declared.delete(name);
    return true;
  }
}
