/**
 * JSON Schema validation by ajv, loaded when the first value is checked: a server that has just been launched answers its first
 * messages without it.
 */
import type { JsonSchema } from './json-schema.ts';

/** What is wrong with a value, for a person; undefined where it conforms. Fills in defaults. */
export type Check = (value: unknown) => string | undefined;

/** Loads ajv once, then compiles schemas. */
export class SchemaCompiler {
  #compile: (schema: JsonSchema) => Check = () => {
    throw new Error('The schema validator is not loaded');
  };

  /** Loads ajv. What fails here is what {@link compile} throws. */
  async load(): Promise<void> {
    try {
      this.#compile = await loadAjv();
    } catch (error) {
      this.#compile = () => {
        throw error;
      };
    }
  }

  /** The check of a schema, compiled. */
  compile(schema: JsonSchema): Check {
    return this.#compile(schema);
  }
}

async function loadAjv(): Promise<(schema: JsonSchema) => Check> {
  // Its default is the one export that Node and every bundler give of a CommonJS module.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  const create = () => new Ajv2020({
    strict: false,
    allErrors: true,
    useDefaults: true,
    // Checking the schemas against their meta-schema would cost 80 ms at the first call.
    meta: false,
    validateSchema: false,
    // Its logger is the console, and stdout is for frames.
    logger: false,
  });
  const ajv = create();
  return (schema) => {
    // Two tools may give their schemas the same "$id"; an ajv takes each but once.
    const validate = '$id' in schema ? create().compile(schema) : ajv.compile(schema);
    return (value) => {
      if (validate(value)) return undefined;
      return (validate.errors ?? []).slice(0, 8).map(explain).join('; ');
    };
  };
}

function explain(error: {
  readonly instancePath: string;
  readonly message?: string;
  readonly params: { readonly additionalProperty?: string; readonly allowedValues?: unknown };
}): string {
  const { instancePath, message = 'is invalid', params } = error;
  const path = instancePath === '' ? 'the arguments' : instancePath.slice(1).replaceAll('/', '.');
  if (params.additionalProperty !== undefined) {
    return `${path} must not have the property "${params.additionalProperty}"`;
  }
  const allowed = params.allowedValues;
  return `${path} ${message}${allowed === undefined ? '' : `: ${JSON.stringify(allowed)}`}`;
}
