/** Entry point `mcp-actors/recording`: records and replays sessions and connections. For Node. */
export { differenceText, lineText } from './replay/difference.ts';
export { defaultRecordingBytes } from './format.ts';
export { record, recordConnection } from './recorder.ts';
export type { ConnectionRecorder, RecordOptions, Recorder } from './recorder.ts';
export {
  RecordingFileError,
  readRecordingFile,
  recordConnectionToFile,
  recordToFile,
  recordSessions,
} from './recording-file.ts';
export type { RecordedSessionsOptions } from './recording-file.ts';
export { RecordingError, readRecording } from './recording.ts';
export type { Recording } from './recording.ts';
export { replay } from './replay/replay.ts';
export type { ReplayOptions } from './replay/playback.ts';
