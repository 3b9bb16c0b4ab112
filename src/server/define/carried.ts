/** Features that authored values bring with them: a server loads only those of the values it was given. */

/**
 * The key under which an authored value carries the feature that serves it. `define` functions of packages set it; the
 * server reads it (`server/features/feature.ts` has the types).
 */
export const carried: unique symbol = Symbol.for('mcp-actors.feature');
