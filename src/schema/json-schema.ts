/** The TypeScript type of the values that a JSON Schema literal describes, for the keywords tools are written with. */

/** A JSON Schema (2020-12) as a value. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A JSON Schema whose values are objects: what tools take and give. */
export type ObjectSchema = JsonSchema & { readonly type: 'object' };

/** What a schema is read for: what is accepted, or what is given. They differ where a schema transforms or fills in defaults. */
export type SchemaSide = 'input' | 'output';

/**
 * The type of a schema's values: `const`, `enum`, the primitive types, arrays with `items`, objects with `properties` and `required`.
 * What it cannot tell is `unknown`, never wrong.
 * @typeParam TBare the type of an object of which the schema says no more
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

type RequiredOf<TSchema> = TSchema extends { readonly required: readonly (infer TKey)[] }
  ? TKey
  : never;

/** As one object type, which is how an editor shows it. */
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
