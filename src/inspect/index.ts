/** `mcp-actors/inspect`: look at sessions, record them, replay them. For Node. */
export { inspectPage } from './inspect-page.ts';
export type { InspectPageOptions, InspectedPage } from './inspect-page.ts';
export { inspectStately } from './stately/inspect-stately.ts';
export type { InspectStatelyOptions, StatelyInspection } from './stately/inspect-stately.ts';
export { differenceText } from '../recording/replay/difference.ts';
export type { Difference } from '../recording/replay/difference.ts';
export type { RecordedLine, RecordingHeader } from '../recording/format.ts';
export { record } from '../recording/recorder.ts';
export type { RecordOptions, Recorder } from '../recording/recorder.ts';
export { recordConnection } from '../recording/connection-recorder.ts';
export type { ConnectionRecorder } from '../recording/connection-recorder.ts';
export type { RecordingOptions, RecordingSink } from '../recording/recording-writer.ts';
export {
  RecordingFileError,
  readRecordingFile,
  recordConnectionToFile,
  recordToFile,
} from '../recording/recording-file.ts';
export { recordSessions } from '../recording/recorded-sessions.ts';
export type { RecordedSessionsOptions } from '../recording/recorded-sessions.ts';
export { RecordingError, readRecording } from '../recording/recording.ts';
export type { NumberedLine, Recording } from '../recording/recording.ts';
export { replay } from '../recording/replay/replay.ts';
export type { ReplayResult } from '../recording/replay/replay.ts';
export type { ReplayOptions, TranscriptConnection } from '../recording/replay/playback.ts';
