/** `mcp-actors/recording`: sessions and connections written down, and played again. For Node. */
export { differenceText, lineText } from './replay/difference.ts';
export type { Difference } from './replay/difference.ts';
export { defaultRecordingBytes } from './format.ts';
export type { RecordedLine, RecordingHeader } from './format.ts';
export { record, recordConnection } from './recorder.ts';
export type { ConnectionRecorder, RecordOptions, Recorder } from './recorder.ts';
export type { RecordingOptions, RecordingSink } from './recording-writer.ts';
export {
  RecordingFileError,
  readRecordingFile,
  recordConnectionToFile,
  recordToFile,
  recordSessions,
} from './recording-file.ts';
export type { RecordedSessionsOptions } from './recording-file.ts';
export { RecordingError, readRecording } from './recording.ts';
export type { NumberedLine, Recording } from './recording.ts';
export { replay } from './replay/replay.ts';
export type { ReplayResult } from './replay/replay.ts';
export type { ReplayOptions, TranscriptConnection } from './replay/playback.ts';
