/** What every tool takes about the root that it works in. */

/** The optional `root` of a tool's input. */
export const rootParameter = {
  type: 'string',
  description:
    'Which root to work in, by name, URI or path, if there are several (workspace_info lists them). The first usable root by default.',
} as const;
