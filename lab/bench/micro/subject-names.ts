/** The subjects of `session-cost.mjs`, in the order of its table. */
export const subjectNames = ['mcp-actors', 'sdk-1', 'sdk-2', 'sessionMachine.provide({})'] as const;
