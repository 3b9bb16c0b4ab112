/** How much of a file is read, bytes. */
export interface ReadBounds {
  /** The file's size when it was opened: what is appended meanwhile is not read. */
  readonly sizeBytes: number;
  /** Beyond this nothing is read only to count lines. */
  readonly countedBytes?: number;
  /** Beyond this the range is not looked for. */
  readonly soughtBytes?: number;
}

/** Defaults of {@link ReadBounds}. */
export const defaultBounds = { countedBytes: 64 * 1024 ** 2, soughtBytes: 1024 ** 3 } as const;
