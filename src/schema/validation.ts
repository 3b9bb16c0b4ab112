/**
 * The check of a value against a JSON Schema, bounded: neither a value nor a schema of a stranger holds up the process.
 */
import type { JsonSchema, SchemaSide } from './json-schema.ts';
import { OutOfSteps } from './pattern.ts';
import { checkOfSchema } from './schema-check.ts';
import { SchemaRun, TooDeep } from './schema-run.ts';
import type { Check } from './schema-run.ts';

/** Says what is wrong with a value, for a person; undefined if it conforms. */
export type ValueCheck = (value: unknown) => string | undefined;

/** What checking one value may cost: a look at a keyword or at a character. About 0.1 seconds. */
const maxSteps = 2_000_000;

const roots = { input: 'the arguments', output: 'the result' };

const checks = new WeakMap<JsonSchema, Check>();

/**
 * The check of a JSON Schema; it is kept. An `input` check fills in defaults, an `output` check
 * changes nothing. Of a value that does not conform, the first ten faults are told.
 *
 * @throws {TypeError} with the place and the reason: what a keyword is given may not stand there, a `$ref`
 *   leads nowhere, or a pattern is no regular expression or cannot be matched in bounded time
 */
export function validatorOf(schema: JsonSchema, side: SchemaSide): ValueCheck {
  const check = checks.get(schema) ?? checkOfSchema(schema);
  checks.set(schema, check);
  return (value) => {
    const run = new SchemaRun(maxSteps, side === 'input');
    try {
      return check(value, run) ? undefined : run.explain(roots[side]);
    } catch (error) {
      return `${roots[side]} ${unchecked(error)}`;
    }
  };
}

/** Why a value could not be checked to its end. */
function unchecked(error: unknown): string {
  if (error instanceof OutOfSteps) {
    return `cannot be checked, because that takes more than ${maxSteps} steps: there is too much in them, or a schema that refers to itself matches them in too many ways`;
  }
  if (error instanceof TooDeep) return 'cannot be checked, because they are nested too deeply';
  throw error;
}
