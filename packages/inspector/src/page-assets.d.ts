/** What scripts/build.mjs makes of `page`: its scripts by the names that they import each other by, and its style, as texts. */
export const scripts: { readonly [name: string]: string };
export const style: string;
