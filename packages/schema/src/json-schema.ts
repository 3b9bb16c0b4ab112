/** JSON Schema literals and the TypeScript types they describe. */

/** A JSON Schema (2020-12) literal. */
export type JsonSchema = {
  /** Value of a keyword. */
  readonly [keyword: string]: unknown;
};

/** A JSON Schema of objects, for the input and output of tools. */
export type ObjectSchema = JsonSchema & WrapItInZodObjectOrGiveAType;

/**
 * Requires `type`. Its name appears in the compiler error for an author who passes an object of
 * library schemas, as the official SDK accepts.
 */
interface WrapItInZodObjectOrGiveAType {
  readonly type: 'object';
}

/**
 * Side of a schema: accepted input or produced output. They differ if the schema transforms or adds
 * defaults.
 */
export type SchemaSide = 'input' | 'output';

/**
 * Type of a schema's values. Supports `const`, `enum`, the primitive types, arrays with `items`,
 * and objects with `properties` and `required`. Everything else is `unknown`.
 *
 * @typeParam TBare type of an object whose schema lists no properties
 */
export type FromSchema<TSchema, TBare = JsonSchema> = TSchema extends {
  readonly const: infer TValue;
}
  ? TValue
  : TSchema extends { readonly enum: readonly (infer TValue)[] }
    ? TValue
    : TSchema extends { readonly type: 'string' }
      ? string
      : TSchema extends { readonly type: 'number' | 'integer' }
        ? number
        : TSchema extends { readonly type: 'boolean' }
          ? boolean
          : TSchema extends { readonly type: 'null' }
            ? null
            : TSchema extends { readonly type: 'array'; readonly items: infer TItems }
              ? readonly FromSchema<TItems, TBare>[]
              : TSchema extends { readonly type: 'object'; readonly properties: infer TProperties }
                ? FromProperties<TProperties, RequiredOf<TSchema>, TBare>
                : TSchema extends { readonly type: 'object' }
                  ? TBare
                  : unknown;

/** Names of required properties. */
export type RequiredOf<TSchema> = TSchema extends { readonly required: readonly (infer TKey)[] }
  ? TKey
  : never;

/** Merges an intersection into one object type, so that editors list its members. */
type Flat<T> = { readonly [K in keyof T]: T[K] };

type FromProperties<TProperties, TRequired, TBare> = Flat<
  {
    readonly [K in keyof TProperties as K extends TRequired ? K : never]: FromSchema<
      TProperties[K],
      TBare
    >;
  } & {
    readonly [K in keyof TProperties as K extends TRequired ? never : K]?: FromSchema<
      TProperties[K],
      TBare
    >;
  }
>;
