/** Limits on reading a file, bytes. */
export interface ReadBounds {
  /** Size of the file when opened. Data appended later is not read. */
  readonly sizeBytes: number;
  /** Limit for reading on only to count lines. */
  readonly maxCountBytes?: number;
  /** Limit for searching the start of the range. */
  readonly maxSeekBytes?: number;
}

/** Defaults of {@link ReadBounds}. */
export const defaultBounds = { maxCountBytes: 64 * 1024 ** 2, maxSeekBytes: 1024 ** 3 } as const;
