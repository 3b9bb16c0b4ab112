export function pruneDeclarations(folder: string): void;
