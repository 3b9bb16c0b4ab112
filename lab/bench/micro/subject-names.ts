/** Subjects of `session-cost.mjs`, in table order. */
export const subjectNames = ['mcp-actors', 'sdk-1', 'sdk-2', 'sessionMachine.provide({})'] as const;
