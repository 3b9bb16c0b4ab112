/**
 * Text modules that scripts/build.mjs generates from `page`: scripts by import name, and the style
 * sheet.
 */
export const scripts: { readonly [name: string]: string };
export const style: string;
