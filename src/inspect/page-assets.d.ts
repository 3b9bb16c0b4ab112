/** What scripts/build.mjs makes of src/inspect/page: the page's script and its style, as texts. */
export const script: string;
export const style: string;
