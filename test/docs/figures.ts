/** Sources of each figure with a unit: page, figure, and a file with a text in it. */

/** A file and a text it contains. */
export type Citation = readonly [file: string, text: string];

const supervisor = 'packages/serve/src/supervisor/supervisor.machine.ts';
const session = 'src/actors/limits.ts';
const performance = 'docs/performance.md';
const http = 'packages/http/src/options.ts';
const tokens = 'packages/http/src/auth/options.ts';
const restart = 'packages/client/src/channel/restart-option.ts';
const stream = 'packages/client/src/http/http-stream.machine.ts';
const host = 'packages/client/src/connection/limits.ts';
const lists = 'packages/client/src/lists/lists.ts';
const skills = 'src/protocol/skills.ts';
const skillDirectory = 'packages/skills/src/skill-directory.ts';
const process = 'packages/processes/src/process.machine.ts';
const stderr = 'packages/processes/src/stderr-log.ts';
const page = 'packages/inspector/src/loopback-server.ts';
const bridge = 'packages/bridge/src/bridge.ts';
const bridged = 'packages/bridge/src/managed-server.actor.ts';
const openApi = 'packages/openapi/src/openapi-tools.ts';
const apiCall = 'packages/openapi/src/api-call.ts';
const openApiDocument = 'packages/openapi/src/document.ts';
/** Figures of OpenAPI tools. */
const openApiFigures = {
  '1,024 characters': [openApi, 'maxDescription = 1024'],
  '16 KiB': [openApi, 'maxAnswerSchema = 16 * 1024'],
  '4,000 characters': [apiCall, 'maxErrorCharacters = 4000'],
  'five times': [apiCall, 'maxRedirects = 5'],
  '30 s': [apiCall, 'timeoutMs = 30_000'],
  '1 MiB': [apiCall, 'maxResponseBytes = 1024 * 1024'],
  '64 MiB': [openApiDocument, 'maxDocumentBytes = 64 * 1024 * 1024'],
} as const;
const processEnd = 'packages/serve/src/process-end.ts';
const initialize = 'src/protocol/initialize.ts';

const visit: Citation = ['packages/client/src/auth/options.ts', 'defaultVisitMs = 5 * 60_000'];
const rootsTimeout: Citation = [session, 'rootsTimeoutMs: 5 * second'];
const longestLine: Citation = [session, 'maxLineBytes: 16 * MiB'];
const outbound: Citation = [session, 'maxOutboundBytes: 16 * MiB'];
const entryTime: Citation = ['packages/roots/src/directory-check.ts', 'directoryTimeoutMs = 2000'];
const listTime: Citation = ['packages/roots/src/resolve-roots.ts', 'totalTimeoutMs = 10_000'];
const retries: Citation = [
  'test/machines/roots.actor.test.ts',
  '[30_000, 60_000, 120_000, 240_000, 300_000, 300_000]',
];
const headers: Citation = [page, 'headersTimeoutMs: 5000'];
const guests: Citation = [page, 'maxAuthenticated: 64'];
const wholeResult: Citation = [
  'packages/workspace-server/test/result-size.test.ts',
  'maxCharacters = 40_000',
];
const cursorPaths: Citation = [
  'packages/workspace-server/src/search/tree-walk.ts',
  'maxKeptCharacters = 8 * 1024 * 1024',
];
const shared: Citation = [session, 'maxClientsAtLimit = 4'];
const backoff: Citation = ['packages/tasks/src/task-worker.ts', '1000 * 2 ** (claims - 2)'];
const suspended: Citation = [session, 'suspendedCallTimeoutMs: 10 * minute'];
const retained: Citation = [session, 'maxRetainedBytes: 64 * MiB'];
const firstServer: Citation = [bridge, 'defaultPatienceMs = 3000'];
const mergedName: Citation = ['packages/client/src/hosts/merged-names.ts', 'longest = 64'];
const instructions: Citation = ['packages/bridge/src/joined-instructions.ts', 'longestPart = 4000'];
const shortestGiven: Citation = ['packages/diagnostics/src/secrets.ts', 'shortestGiven = 6'];
const media: Citation = [
  'packages/workspace-server/src/tools/read-files.ts',
  'maxMediaBytes = 3 * 1024 * 1024',
];
const searches: Citation = [
  'packages/workspace-server/src/project/workspace.ts',
  'const searches = semaphore(4)',
];
const searchTime: Citation = [
  'packages/workspace-server/src/search/search-limits.ts',
  'defaultSearchTimeoutMs = 20_000',
];
const searchMemory: Citation = [
  'packages/workspace-server/test/search-bounds.apart.test.ts',
  'mostBytes = 100 * mebibyte',
];
const greeting: Citation = [initialize, 'maxInitializeLength = 64 * 1024'];
const farthestRetry: Citation = [
  'src/machines/overtaken-answers.ts',
  'retryMs * Math.min(2 ** (failures - 1), 10)',
];

/** Figures by page, in order of first occurrence. */
export const citations: {
  readonly [page: string]: { readonly [figure: string]: readonly [Citation, ...Citation[]] };
} = {
  'README.md': {
    '9 µs': [
      [
        performance,
        'echo, 16 in flight, CPU, µs                             | 8.45 (1.00) |  9.25',
      ],
    ],
    '1.1 times': [[performance, '9.25 (1.10)']],
    '30 µs': [[performance, '29.5 (3.49)']],
    '41 µs': [[performance, '40.7 (4.81)']],
  },
  'docs/architecture.md': { '16 MiB': [outbound] },
  'docs/authorization.md': {
    '5 min': [[tokens, 'uncheckedTimeoutMs: 5 * 60_000'], visit],
    '5 s': [
      [tokens, 'fetchTimeoutMs: 5_000'],
      ['packages/client/src/auth/device-login.ts', 'usualInterval = 5'],
      ['packages/client/src/auth/device-login.machine.ts', 'slowerByMs = 5000'],
    ],
    '256 KiB': [
      [tokens, 'maxDocumentBytes: 256 * 1024'],
      ['packages/client/src/auth/guarded-fetch.ts', 'maxBytes = 256 * 1024'],
    ],
    '10 min': [[tokens, 'keysMaxAgeMs: 10 * 60_000']],
    '1 h': [
      [tokens, 'keysStaleMs: 60 * 60_000'],
      ['packages/client/src/auth/device-login.ts', 'expiresInMs: [1000, 60 * 60_000]'],
    ],
    '1 s': [['packages/client/src/auth/device-login.ts', 'intervalMs: [1000, 60_000]']],
    '60 s': [['packages/client/src/auth/device-login.ts', 'intervalMs: [1000, 60_000]']],
    '30 s': [
      [tokens, 'refetchPauseMs: 30_000'],
      ['packages/client/src/auth/options.ts', 'besideVisitMs = 30_000'],
      ['packages/client/src/auth/guarded-fetch.ts', 'requestMs = 30_000'],
    ],
    '1 min': [
      [tokens, 'tokenCacheMs: 60_000'],
      [tokens, 'recheckMs: 60_000'],
    ],
    '5 minutes': [visit],
    '3 times': [['packages/client/src/auth/host-authorization.ts', 'maxRetries = 3']],
    '15 s': [['packages/client/src/auth/file-lock.ts', 'staleMs: 15_000']],
    '16 Ki': [[tokens, 'maxTokenLength: 16 * 1024']],
    'clockSkewSeconds 30': [[tokens, 'clockSkewSeconds: 30']],
    'maxCachedTokens 1000': [[tokens, 'maxCachedTokens: 1_000']],
    'maxIntrospections 64': [[tokens, 'maxIntrospections: 64']],
    'maxRechecks 8': [[tokens, 'maxRechecks: 8']],
    'maxExchangedTokens 1000': [[tokens, 'maxExchangedTokens: 1_000']],
  },
  'docs/bridge.md': {
    '15 s': [['packages/bridge/src/merged-upstream.ts', 'startTimeoutMs = 15_000']],
    '3 s': [firstServer],
    '1 s': [[bridged, 'retryMs: 1000']],
    '2 s': [
      [bridged, 'retryMs: 1000'],
      ['src/actors/sleep-watch.ts', 'maxJitterMs = 2000'],
    ],
    '10 s': [[session, 'keepaliveTimeoutMs: 10 * second']],
    '5 min': [
      [bridged, 'maxRetryMs: 5 * 60_000'],
      ['packages/bridge/src/bridged-entry.ts', 'processIdleMs: 5 * 60_000'],
    ],
    '10 min': [['packages/cli/src/client/client-options.ts', 'loginTimeoutMs = 5 * 60_000']],
    '4,000 characters': [instructions],
  },
  'docs/maintaining/checked-servers.md': {
    'five seconds': [['packages/cli/src/check.ts', 'default: 5_000']],
  },
  'packages/cli/README.md': {
    '300 ms': [[processEnd, 'fileRequestTimeoutMs = 300']],
    '350 ms': [[processEnd, 'graceMs = 350']],
    '3 s': [['packages/cli/src/client/find-tool.ts', 'listingMs = 3000']],
  },
  'docs/client.md': {
    '60 s': [
      [session, 'requestTimeoutMs: 60 * second'],
      [stream, 'longestRetryMs = 60_000'],
    ],
    '10 min': [[session, 'requestMaxTotalMs: 10 * minute']],
    '30 s': [
      [host, 'connectTimeoutMs: 30 * second'],
      [restart, 'maxMs: 30_000'],
      [stream, 'maxMs: 30_000'],
    ],
    '100 events': [[host, 'maxUnheardEvents: 100']],
    '3 s': [['packages/client/src/hosts/manager.ts', 'defaultStartupMs = 3000']],
    '64 KiB': [[stderr, 'keptBytes = 64 * 1024']],
    '2 s': [
      [process, 'inputMs: 2000'],
      [process, 'terminateMs: 2000'],
      [restart, 'factor: 2'],
      ['packages/client/src/http/http-channel.actor.ts', 'endTimeoutMs = 2000'],
    ],
    '250 ms': [[process, 'drainMs: 250']],
    '0.5 s': [[restart, 'initialMs: 500']],
    '1 s': [
      [restart, 'factor: 2'],
      [stream, 'initialMs: 1000'],
      [lists, 'maxListSpacingMs: 1000'],
      [lists, 'listenRetryMs: 1000'],
    ],
    'five attempts': [
      [restart, 'maxAttempts: 5'],
      [stream, 'maxAttempts: 5'],
    ],
    '16 MiB': [longestLine, [lists, 'maxListBytes: 16 * 1024 * 1024']],
    '256 levels': [[session, 'maxDepth: 256']],
    '256 requests': [
      ['packages/client/src/http/http-channel-kind.ts', 'defaultOpenRequests = 256'],
    ],
    '100 ms': [
      [lists, 'listSpacingMs: 100'],
      ['packages/client/src/asked/input-rounds.ts', 'shedRetryMs = 100'],
    ],
    '5 s': [[lists, 'listRetryMs: 5000']],
    '50 s': [farthestRetry],
    '100 pages': [[lists, 'maxListPages: 100']],
    '10,000 entries': [[lists, 'maxListEntries: 10_000']],
    '16 rounds': [[host, 'maxRounds: 16']],
    '64 characters': [mergedName],
    'maxStarting 8': [['packages/client/src/hosts/manager.ts', 'defaultMaxStarting = 8']],
  },
  'docs/context.md': {
    'eight levels': [['test/docs/figures.test.ts', 'toHaveLength(8)']],
    '10 min': [
      [session, 'humanTimeoutMs: 10 * minute'],
      [session, 'requestMaxTotalMs: 10 * minute'],
    ],
    '1 min': [[session, 'requestTimeoutMs: 60 * second']],
    '5 s': [rootsTimeout],
    'ten times': [['src/server/context/call-progress.ts', 'intervalMs = 100']],
  },
  'docs/maintaining/driver.md': {
    '16 MiB': [longestLine],
    'timeoutMs 60000': [['examples/driver/translation.ts', 'requestMs = 60_000']],
  },
  'docs/durability.md': {
    '10 s': [['packages/nodes/src/postgres/postgres-stores.ts', 'leaseMs: 10_000']],
    '100,000 sessions': [['packages/nodes/src/stored-bounds.ts', 'maxStoredSessions = 100_000']],
    '1 GiB': [['packages/nodes/src/stored-bounds.ts', 'maxStoredLogBytes = 1024 * 1024 * 1024']],
    '1 min': [[session, 'taskParkMs: 60 * second']],
    '5 min': [[session, 'abandonedMs: 5 * minute']],
    '20 s': [[session, 'holdMs: 20 * second']],
    'ten times': [['src/server/features/durable-calls.ts', 'maxPolls = 9']],
    '1 h': [[session, 'taskTtlMs: 60 * minute']],
    'maxTasks 64': [[session, 'maxTasks: 64']],
    'maxKeptTasks 1,024': [[session, 'maxKeptTasks: 1024']],
    '24 h': [[session, 'maxTaskTtlMs: 24 * 60 * minute']],
    'four times': [shared],
    '122 bits': [['src/server/session/session-scope.ts', 'crypto.randomUUID()']],
    '1 s': [
      [session, 'taskPollIntervalMs: 1 * second'],
      backoff,
      ['src/server/features/durable-calls.ts', 'firstHoldMs = 1000'],
    ],
    '2 s': [backoff],
    '4 s': [backoff],
    '3 s': [['packages/tasks/src/task-worker.ts', 'beatMs = 3000']],
    '30 s': [['packages/tasks/src/postgres/postgres-task-store.ts', 'leaseMs: 30_000']],
    '5 s': [
      ['packages/tasks/src/postgres/postgres-task-store.ts', 'commandTimeoutMs: 5000'],
      [supervisor, 'maxMs: 5000'],
    ],
    'maxRestarts 5': [[session, 'maxRestarts: 5']],
    '100 ms': [[supervisor, 'initialMs: 100']],
    '200 ms': [[supervisor, 'factor: 2']],
    '64 MiB': [['packages/serve/src/supervisor/supervise.ts', 'maxLineBytes = 64 * 1024 ** 2']],
  },
  'docs/maintaining/node-faults.md': {
    '10 s': [['packages/nodes/src/redis-stores.ts', 'leaseMs: 10_000']],
  },
  'docs/eras.md': {
    'maxSuspendedCalls 1,024': [[session, 'maxSuspendedCalls: 1024']],
    'maxRounds 100': [[session, 'maxRounds: 100']],
    '32 bytes': [['src/rounds/request-state.ts', 'keyBytes = 32']],
    '10 minutes': [suspended],
    '64 MiB': [retained],
    '256 KiB': [[session, 'maxRequestStateBytes: 256 * KiB']],
  },
  'docs/skills.md': {
    '512 files': [[skills, 'files: 512']],
    '16 MiB': [[skills, 'bytes: 16 * 1024 * 1024']],
    '16 KiB': [[skills, 'frontmatterBytes: 16 * 1024']],
    '32 levels': [[skills, 'maxDepth = 3 * (1 + 32)']],
    '10,000 files': [[skillDirectory, 'entries: 10_000']],
    '16 levels': [[skillDirectory, 'depth: 16']],
    '64 MiB': [[skillDirectory, 'bytes: 64 * 1024 * 1024']],
  },
  'docs/http.md': {
    '5 s': [[http, 'streamAfterMs: 5 * second']],
    '30 min': [
      [http, 'sessionIdleTimeoutMs: 30 * minute'],
      ['packages/http/src/nodes/stores.ts', 'idleMs: 30 * 60 * 1000'],
    ],
    '15 s': [
      [http, 'keepaliveIntervalMs: 15 * second'],
      ['packages/serve/src/served-connection-limits.ts', 'headersTimeoutMs: 15_000'],
    ],
    '75 s': [['packages/serve/src/served-connection-limits.ts', 'keepAliveTimeoutMs: 75_000']],
    '10 s': [['packages/nodes/src/redis-stores.ts', 'leaseMs: 10_000']],
    '2 s': [[session, 'drainTimeoutMs: 2 * second']],
    '1 min': [['packages/serve/src/served-connection-limits.ts', 'requestTimeoutMs: 60_000']],
    '256 KiB': [
      ['packages/http/src/owner/owned-session.ts', 'maxRecordBytes = 256 * 1024'],
      ['packages/http/src/owner/forwarded-request.ts', 'maxBacklogBytes = 256 * 1024'],
    ],
    '4 MiB': [['packages/http/src/nodes/stores.ts', 'maxBytes: 4 * 1024 * 1024']],
    '5 min': [['packages/http/src/nodes/stores.ts', 'maxAgeMs: 5 * 60 * 1000']],
    '1 s': [['packages/nodes/src/redis-stores.ts', 'commandTimeoutMs: 1000']],
    '64 MiB': [['packages/nodes/src/redis-stores.ts', 'maxCommandBytes: 64 * 1024 * 1024']],
    '30 s': [
      [http, 'unreadTimeoutMs: 30 * second'],
      ['packages/http/src/nodes/forwarding-protocol.ts', 'maxSignatureAgeMs = 30_000'],
    ],
    'maxConnections 16384': [
      ['packages/serve/src/served-connection-limits.ts', 'maxConnections: 16_384'],
    ],
  },
  'packages/inspector/README.md': {
    '24 messages': [['packages/inspector/src/session-sampler.ts', 'bucketSize = 24']],
    '32 connections': [[page, 'maxUnauthenticated: 32']],
    '2,000 rows': [['packages/inspector/src/page/model.ts', 'maxRows = 2000']],
    '500 characters': [['packages/diagnostics/src/redaction.ts', 'maxString = 500']],
    '400 values': [['packages/inspector/src/frame-reading.ts', 'maxValues = 400']],
    '16 Ki characters': [['packages/inspector/src/frame-reading.ts', 'maxText = 16 * 1024']],
    'five seconds': [headers],
    '64 connections': [guests],
    'five times': [['packages/inspector/src/page-sessions.ts', 'intervalMs = 200']],
  },
  'docs/limits.md': {
    'four times': [shared],
    '64 KiB': [
      greeting,
      [stderr, 'keptBytes = 64 * 1024'],
      ['packages/client/src/http/response.ts', 'maxRefusalBytes = 64 * 1024'],
    ],
    '8 KiB': [
      [initialize, 'maxClientLength = 8 * 1024'],
      [stderr, 'longestLine = 8 * 1024'],
    ],
    '256 characters': [
      ['src/protocol/implementation.ts', 'maxNameLength = 256'],
      ['packages/client/src/hosts/tool-policies.ts', 'maxPatternLength = 256'],
    ],
    '1 s': [
      [processEnd, 'signalDrainTimeoutMs = 1000'],
      [process, 'killMs: 1000'],
      [lists, 'maxListSpacingMs: 1000'],
      [lists, 'acknowledgeTimeoutMs: 1000'],
      [lists, 'listenRetryMs: 1000'],
      [stream, 'initialMs: 1000'],
    ],
    '1.7 s': [
      [processEnd, 'signalDrainTimeoutMs = 1000'],
      [processEnd, 'graceMs = 350'],
      [processEnd, 'fileRequestTimeoutMs = 300'],
    ],
    '4 KiB': [
      ['src/actors/router/call-queue.ts', 'minCountedBytes = 4096'],
      ['src/rounds/suspendable-calls.ts', 'countedLength = 4096'],
    ],
    '2 s': [
      [process, 'inputMs: 2000'],
      [process, 'terminateMs: 2000'],
      ['packages/client/src/http/http-channel.actor.ts', 'endTimeoutMs = 2000'],
    ],
    '250 ms': [[process, 'drainMs: 250']],
    '2,000 characters': [
      [stderr, 'quotedLength = 2000'],
      ['packages/bridge/src/policy-guard.ts', 'maxShownArguments = 2000'],
    ],
    '600 characters': [['src/protocol/disconnects.ts', 'maxQuotedLength = 600']],
    '0.5 s': [[restart, 'initialMs: 500']],
    '30 s': [
      [restart, 'maxMs: 30_000'],
      [host, 'connectTimeoutMs: 30 * second'],
      [host, 'loginTimeoutMs: 5 * 60 * second + 30 * second'],
      [lists, 'maxListenRetryMs: 30_000'],
      [stream, 'maxMs: 30_000'],
      openApiFigures['30 s'],
    ],
    '20 %': [[restart, 'jitter: 0.2']],
    '1 min': [[restart, 'stableMs: 60_000']],
    '500 ms': [[host, 'probeMs: 500']],
    '5 min': [visit],
    '60 s': [
      [session, 'requestTimeoutMs: 60 * second'],
      [stream, 'longestRetryMs = 60_000'],
    ],
    '10 min': [[session, 'requestMaxTotalMs: 10 * minute']],
    '64 MiB': [
      [session, 'maxRunningBytes: 64 * MiB'],
      [session, 'maxWaitingBytes: 64 * MiB'],
      openApiFigures['64 MiB'],
    ],
    '16 MiB': [
      longestLine,
      outbound,
      [lists, 'maxListBytes: 16 * 1024 * 1024'],
      ['packages/client/src/hosts/servers-lock.ts', 'maxBytes = 16 * 1024 ** 2'],
    ],
    '1 MiB': [[session, 'readAheadBytes: 1 * MiB'], openApiFigures['1 MiB']],
    '256 Ki characters': [
      ['packages/client/src/lists/ask-list.actor.ts', 'maxCursorLength = 256 * 1024'],
    ],
    '100 ms': [[lists, 'listSpacingMs: 100']],
    '5 s': [[lists, 'listRetryMs: 5000']],
    '50 s': [farthestRetry],
    '10 s': [[stream, 'stableMs: 10_000']],
    '50 ms': [[stream, 'shortestRetryMs = 50']],
    '1 h': [[session, 'taskTtlMs: 60 * minute']],
    '24 h': [[session, 'maxTaskTtlMs: 24 * 60 * minute']],
    '20 s': [[session, 'holdMs: 20 * second']],
    '30 min': [[http, 'sessionIdleTimeoutMs: 30 * minute']],
    'maxWaiting 1024': [[session, 'maxWaiting: 1024']],
    'maxSubscriptions 1024': [[session, 'maxSubscriptions: 1024']],
    'maxRestarts 5': [[session, 'maxRestarts: 5']],
  },
  'docs/machine-tools.md': { '10 minutes': [suspended] },
  'packages/openapi/README.md': {
    '64 characters': [['packages/openapi/src/tool-texts.ts', 'maxName = 64']],
    '1,000 files': [[openApiDocument, 'maxParts = 1000']],
    ...Object.fromEntries(Object.entries(openApiFigures).map(([figure, at]) => [figure, [at]])),
  },
  'docs/opentelemetry.md': {
    '256 characters': [['packages/opentelemetry/src/subject.ts', 'value.slice(0, 256)']],
  },
  'docs/maintaining/platforms.md': {
    'three seconds': [['packages/cli/src/doctor/process-table.ts', 'settledAfterSeconds = 3']],
  },
  'docs/recording.md': {
    '64 MiB': [['packages/recording/src/format.ts', 'defaultRecordingBytes = 64 * 1024 ** 2']],
    '256 sessions': [['packages/recording/src/recording-file.ts', 'maxOpen = 256']],
  },
  'docs/diagnosing.md': { 'six characters': [shortestGiven] },
  'docs/roots.md': {
    '5 s': [rootsTimeout],
    '2 s': [entryTime],
    '10 s': [listTime],
    '1 MiB': [['packages/roots/src/open-inside.ts', 'defaultMaxBytes = 1024 * 1024']],
  },
  'docs/security.md': {
    '100 MiB': [searchMemory],
    'four searches': [searches],
    '20 s': [searchTime],
    '3 MiB': [media],
    '32 KiB': [[skills, 'maxExpanded = 2 * skillBounds.frontmatterBytes']],
    '64 KiB': [greeting],
    'six characters': [shortestGiven],
    'five minutes': [[tokens, 'uncheckedTimeoutMs: 5 * 60_000']],
  },
  'docs/server.md': {
    '8192 characters': [['src/server/define/uri-template.ts', 'longestUri = 8192']],
    '100 values': [['src/server/features/completion.ts', 'maxValues = 100']],
    'twenty times': [['src/server/features/list-changes.observable.ts', 'maxQuietPeriods = 20']],
  },
  'docs/maintaining/soaking.md': {
    '2 min': [['lab/soak/bridge.ts', 'patienceMs = 120_000']],
    '500 rounds': [['.ci/nightly', '--bridge --rounds 500']],
    'ten minutes': [['.ci/nightly', '--minutes 10']],
    '4 MiB': [['lab/soak/vitals.ts', 'growthBytes = 4 * 1024 ** 2']],
    'ten seconds': [['lab/soak/client.ts', "this.#server.kill('SIGKILL'), 10_000)"]],
  },
  'docs/testing.md': { '200 times': [['packages/testing/src/client-eras.ts', 'maxRounds = 200']] },
  'packages/workspace-server/README.md': {
    '2 s': [entryTime],
    '10 s': [listTime],
    '5 s': [rootsTimeout, ['packages/roots/src/disk/disk.ts', 'timeoutMs = 5000']],
    '30 s': [[session, 'rootsRetryMs: 30 * second'], retries],
    '1 min': [retries],
    '2 min': [retries],
    '5 min': [retries],
    '40,000 characters': [wholeResult],
    '1,000 characters': [
      ['packages/workspace-server/src/globs/glob.ts', 'maxGlobCharacters = 1000'],
    ],
    '64 globs': [['packages/workspace-server/src/globs/glob.ts', 'maxGlobs = 64']],
    '8,192 characters': [
      ['packages/workspace-server/src/globs/glob.ts', 'maxExpandedCharacters = 8192'],
    ],
    '8 MiB': [cursorPaths],
    '64 KiB': [
      ['packages/workspace-server/src/text/text-encoding.ts', 'sampleBytes = 64 * 1024'],
      ['packages/workspace-server/src/search/ignore-files.ts', 'maxIgnoreBytes = 64 * 1024'],
    ],
    'maxCharacters 30,000': [
      ['packages/workspace-server/src/tools/read-file.ts', 'defaultMaxCharacters = 30_000'],
    ],
    '20 files': [['packages/workspace-server/src/tools/read-file.ts', 'maxPaths = 20']],
    '64 MiB': [
      ['packages/workspace-server/src/text/read-bounds.ts', 'maxCountBytes: 64 * 1024 ** 2'],
    ],
    '3 MiB': [media],
    '1 MiB': [
      ['packages/workspace-server/src/project/project-facts.ts', 'maxFileBytes = 1024 * 1024'],
    ],
    '200 characters': [
      ['packages/workspace-server/src/project/project-facts.ts', 'maxNameCharacters = 200'],
    ],
    '8,000 characters': [
      ['packages/workspace-server/src/project/project-facts.ts', 'maxListedCharacters = 8000'],
      ['src/protocol/printable.ts', 'maxLineCharacters = 8000'],
    ],
    '100 MiB': [searchMemory],
    '256 KiB': [
      ['packages/workspace-server/src/search/line-bounds.ts', 'maxLineBytes = 256 * 1024'],
    ],
    '10 MiB': [['packages/workspace-server/src/search/ripgrep.ts', '--regex-size-limit=10M']],
    'four searches': [searches],
    '20 s': [searchTime],
  },
};
