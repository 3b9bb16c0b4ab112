/**
 * JSON Schema validation by ajv, loaded when the first value is checked: a server that has just been launched answers its first
 * messages without it.
 */
import type { JsonSchema, SchemaSide } from './json-schema.ts';

/** What is wrong with a value, for a person; undefined where it conforms. */
export type Check = (value: unknown) => string | undefined;

type Compile = (schema: JsonSchema, side: SchemaSide) => Check;

/** Loads ajv once, then compiles schemas. */
export class SchemaCompiler {
  #compile: Compile = () => {
    throw new Error('The schema validator is not loaded');
  };

  #loading: Promise<void> | undefined;

  get isLoading(): boolean {
    return this.#loading !== undefined;
  }

  /** Loads ajv, once however often it is called. What fails here is what {@link compile} throws. */
  load(): Promise<void> {
    return (this.#loading ??= this.#load());
  }

  async #load(): Promise<void> {
    try {
      this.#compile = await loadAjv();
    } catch (error) {
      this.#compile = () => {
        throw error;
      };
    }
  }

  /**
   * The check of a schema, compiled. An `input` check fills in defaults; an `output` check leaves the author's value as it is.
   *
   * @throws {Error} a schema that is none
   */
  compile(schema: JsonSchema, side: SchemaSide): Check {
    return this.#compile(schema, side);
  }
}

/** How many schemas one ajv compiles. */
const schemasOfOne = 256;

async function loadAjv(): Promise<Compile> {
  // Its default is the one export that Node and every bundler give of a CommonJS module.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  const create = (useDefaults: boolean) =>
    new Ajv2020({
      strict: false,
      allErrors: true,
      useDefaults,
      // Checking the schemas against their meta-schema would cost 80 ms at the first call.
      meta: false,
      validateSchema: false,
      // Its logger is the console, and stdout is for frames.
      logger: false,
    });
  let shared = { input: create(true), output: create(false) };
  let compiled = 0;
  const places = { input: 'the arguments', output: 'the result' };
  return (schema, side) => {
    // Two tools may give their schemas the same "$id"; an ajv takes each but once.
    const ajv = '$id' in schema ? create(side === 'input') : shared[side];
    const validate = ajv.compile(schema);
    // An ajv keeps what it has compiled for good, be it of a tool that is long gone.
    if (++compiled % schemasOfOne === 0) shared = { input: create(true), output: create(false) };
    return (value) => {
      if (validate(value)) return undefined;
      const errors = (validate.errors ?? []).slice(0, 8);
      return errors.map((error) => explain(error, places[side])).join('; ');
    };
  };
}

function explain(
  {
    instancePath,
    message = 'is invalid',
    params,
  }: {
    readonly instancePath: string;
    readonly message?: string;
    readonly params: { readonly additionalProperty?: string; readonly allowedValues?: unknown };
  },
  root: string,
): string {
  const keys = instancePath.split('/').slice(1).map(unescapePointer);
  const path = keys.length === 0 ? root : keys.join('.');
  if (params.additionalProperty !== undefined) {
    return `${path} must not have the property "${params.additionalProperty}"`;
  }
  const allowed = params.allowedValues;
  return `${path} ${message}${allowed === undefined ? '' : `: ${JSON.stringify(allowed)}`}`;
}

/** @see RFC 6901, section 3 */
function unescapePointer(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}
