export function replaceFile(path: string, contents: Uint8Array): Promise<void>;
