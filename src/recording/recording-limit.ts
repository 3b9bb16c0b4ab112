/** By default no more is recorded than this, bytes. */
export const defaultRecordingBytes = 64 * 1024 ** 2;
