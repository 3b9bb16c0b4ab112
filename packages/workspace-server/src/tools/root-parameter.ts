/** Root parameter shared by all tools. */

/** The optional `root` of a tool's input. */
export const rootParameter = {
  type: 'string',
  description:
    'Root to work in, by name, URI or path, if there are several (workspace_info lists them). Default: the first usable root.',
} as const;
