/**
 * JSON Schema validation by ajv; where that may not generate code, schemas are interpreted. It is
 * loaded when the first value is checked, so a server that has
 * just been launched answers its first messages without it.
 */
import type { JsonSchema, SchemaSide } from './json-schema.ts';

/** Says what is wrong with a value, for a person; undefined if it conforms. */
export type ValueCheck = (value: unknown) => string | undefined;

type Compile = (schema: JsonSchema, side: SchemaSide) => ValueCheck;

type Loading =
  | { readonly name: 'unloaded' | 'loaded' }
  | { readonly name: 'loading'; readonly done: Promise<void> };

/** Loads a validator once, then compiles schemas. */
export class SchemaCompiler {
  #compile: Compile = () => {
    throw new Error('The schema validator is not loaded');
  };

  #loading: Loading = { name: 'unloaded' };

  /** Whether it is loaded, or soon will be. */
  get isLoading(): boolean {
    return this.#loading.name !== 'unloaded';
  }

  /**
   * Loads it at the first call. It never fails: {@link compile} throws the error of a failed load.
   * @returns undefined once it is loaded
   */
  load(): Promise<void> | undefined {
    if (this.#loading.name === 'loaded') return undefined;
    if (this.#loading.name === 'loading') return this.#loading.done;
    const done = this.#load();
    this.#loading = { name: 'loading', done };
    return done;
  }

  async #load(): Promise<void> {
    try {
      this.#compile = await (mayGenerateCode() ? loadAjv() : loadInterpreter());
    } catch (error) {
      this.#compile = () => {
        throw error;
      };
    }
    this.#loading = { name: 'loaded' };
  }

  /**
   * Compiles a schema. An `input` check fills in defaults; an `output` check changes nothing.
   *
   * @throws {Error} the schema cannot be compiled, or the validator is not loaded
   */
  compile(schema: JsonSchema, side: SchemaSide): ValueCheck {
    return this.#compile(schema, side);
  }
}

/** Whether code may be made of text, which ajv does. Workers refuse that, and some pages. */
function mayGenerateCode(): boolean {
  try {
    // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- that is the question
    return typeof new Function('') === 'function';
  } catch {
    return false;
  }
}

async function loadInterpreter(): Promise<Compile> {
  return (await import('./interpreted.ts')).interpret;
}

/** How many schemas one ajv compiles before another takes its place. */
const schemasOfOne = 256;

async function loadAjv(): Promise<Compile> {
  // The default is the one export of a CommonJS module that Node and all bundlers agree on.
  const { Ajv2020 } = (await import('ajv/dist/2020.js')).default;
  const create = (useDefaults: boolean) =>
    new Ajv2020({
      strict: false,
      allErrors: true,
      useDefaults,
      // Checking schemas against their meta-schema would cost 80 ms at the first call.
      meta: false,
      validateSchema: false,
      // By default it logs to the console, and stdout is for frames.
      logger: false,
    });
  let shared = { input: create(true), output: create(false) };
  let compiled = 0;
  const places = { input: 'the arguments', output: 'the result' };
  return (schema, side) => {
    // Two tools may use the same "$id", and an ajv takes each "$id" only once.
    const ajv = '$id' in schema ? create(side === 'input') : shared[side];
    const validate = ajv.compile(schema);
    // An ajv never forgets what it has compiled, even if the tool is long gone.
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
