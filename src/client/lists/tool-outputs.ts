/**
 * Whether tools answer what they say that they answer.
 *
 * @see MCP 2025-11-25, server/tools, "Output Schema"
 */
import { isJsonObject } from '../../protocol/classify.ts';
import { textLength } from '../../protocol/codec.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ListedTool } from '../../protocol/listed.ts';
import { validatorOf } from '../../schema/validation.ts';
import type { ValueCheck } from '../../schema/validation.ts';
import type { ListReport } from './offered.ts';

/** A longer schema is not checked, UTF-16 units: making a check of 2 MB takes more than a second. */
const maxSchemaLength = 64 * 1024;

export class ToolOutputs {
  readonly #tools: () => ListReport<ListedTool>;
  /** By the names of the tools that have an `outputSchema`. */
  #schemas: ReadonlyMap<string, JsonObject> = new Map();
  /** By the schema, once it was needed; undefined if it cannot be checked. */
  readonly #checks = new WeakMap<JsonObject, ValueCheck | undefined>();
  /** The list that the schemas are from. */
  #items: readonly ListedTool[] = [];

  /** @param tools what is known of the server's list */
  constructor(tools: () => ListReport<ListedTool>) {
    this.#tools = tools;
  }

  /** What is wrong with a result's `structuredContent`, in words; undefined if nothing is, or if the list is not known. */
  faultOf(name: string, result: JsonObject): string | undefined {
    const { items } = this.#tools();
    if (items !== this.#items) this.#read(items);
    const schema = this.#schemas.get(name);
    if (!schema || result['isError'] === true) return undefined;
    const { structuredContent: value } = result;
    if (value === undefined) return 'it is missing';
    if (!this.#checks.has(schema)) this.#checks.set(schema, checkOf(schema));
    return this.#checks.get(schema)?.(value);
  }

  #read(items: readonly ListedTool[]): void {
    this.#items = items;
    this.#schemas = new Map(
      items.flatMap(({ name, outputSchema }) =>
        isJsonObject(outputSchema) ? [[name, outputSchema]] : [],
      ),
    );
  }
}

/** Undefined if the server's schema is too long, or no schema: what is wrong then is not the result. */
function checkOf(schema: JsonObject): ValueCheck | undefined {
  if (textLength(schema) > maxSchemaLength) return undefined;
  try {
    return validatorOf(schema, 'output');
  } catch {
    return undefined;
  }
}
