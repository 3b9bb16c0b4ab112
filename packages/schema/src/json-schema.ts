/** JSON Schema literals, and the TypeScript types of the values that they describe. */

/** A JSON Schema (2020-12) as a value. */
export type JsonSchema = {
  /** The value of a keyword. */
  readonly [keyword: string]: unknown;
};

/** A JSON Schema of objects, which is what tools take and give. */
export type ObjectSchema = JsonSchema & WrapItInZodObjectOrGiveAType;

/**
 * The demand for `type`, under a name that a compiler's error shows if an author gives an object of
 * a library's schemas, as the official SDK takes it.
 */
interface WrapItInZodObjectOrGiveAType {
  readonly type: 'object';
}

/**
 * The side of a schema: what it accepts, or what it gives. They differ if it transforms or fills in
 * defaults.
 */
export type SchemaSide = 'input' | 'output';

/**
 * The type of a schema's values. It reads `const`, `enum`, the primitive types, arrays with
 * `items`, and objects with `properties` and `required`. Anything else is `unknown`.
 * @typeParam TBare the type of an object whose schema lists no properties
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

/** The names that a schema requires. */
export type RequiredOf<TSchema> = TSchema extends { readonly required: readonly (infer TKey)[] }
  ? TKey
  : never;

/** One object type instead of an intersection, so that an editor shows its members. */
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
