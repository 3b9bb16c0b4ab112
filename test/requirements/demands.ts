/** Demands by their source, by their id. */
export interface Demands {
  readonly [source: string]: { readonly [id: string]: string };
}
