/** Checks clients' results by the schemas that handlers give with their requests. */
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { checkOf, isStandardSchema } from '../schema/schema.ts';
import type { Schema, SchemaCheck } from '../schema/schema.ts';
import type { SchemaCompiler } from '../schema/validation.ts';

export class ResultChecks {
  readonly #compiler: SchemaCompiler;
  readonly #checks = new WeakMap<Schema, SchemaCheck>();

  constructor(compiler: SchemaCompiler) {
    this.#compiler = compiler;
  }

  /**
   * The check of a schema. Compile it before the request: with a wrong schema nothing may be sent.
   *
   * @throws {TypeError} the schema cannot be compiled
   */
  async of(schema: Schema): Promise<SchemaCheck> {
    if (!isStandardSchema(schema)) await this.#compiler.load();
    const known = this.#checks.get(schema);
    if (known) return known;
    const check = checkOf(schema, 'output', 'The schema of a result', this.#compiler);
    this.#checks.set(schema, check);
    return check;
  }
}

/**
 * A client's result after its check.
 *
 * @throws {RuntimeError} INVALID_RESPONSE saying what is wrong
 */
export async function passed(
  check: SchemaCheck,
  method: string,
  result: JsonObject,
): Promise<unknown> {
  const checked = await check(result);
  if (checked.ok) return checked.value;
  const message = `The client's result of ${method} does not conform: ${checked.fault}`;
  throw new RuntimeError('INVALID_RESPONSE', message);
}
