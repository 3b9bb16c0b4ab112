/** Link from a defined value to the feature that serves it, so that a server loads only what it uses. */

/**
 * Property of a defined value that holds its feature. `define…` functions of packages set it, and the server reads it
 * (types: `server/features/feature.ts`).
 */
export const featureKey: unique symbol = Symbol.for('mcp-actors.feature');
