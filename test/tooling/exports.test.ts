/** The public names, pinned: one that comes or goes is seen here, on purpose. `npx vitest run test/tooling/exports.test.ts -u` writes them anew. */
import { describe, expect, it } from 'vitest';
import { entries } from './entries.ts';

describe('the public names', () => {
  it.each(entries)(
    'of $specifier are those that its source says',
    async ({ specifier, values }) => {
      const module = (await import(specifier)) as object;
      expect(Object.keys(module).sort()).toEqual(values);
    },
  );

  it('are these', () => {
    const lines = entries.flatMap(({ specifier, values, types }) => [
      `${specifier}`,
      ...values.map((name) => `  ${name}`),
      ...types.map((name) => `  type ${name}`),
    ]);
    expect(lines.join('\n')).toMatchInlineSnapshot(`
      "mcp-actors
        ErrorCode
        ProtocolError
        RuntimeError
        ToolError
        UrlElicitationRequired
        appMimeType
        causesOf
        classify
        content
        createMcpServer
        defaultLimits
        defineAppResource
        defineForm
        definePrompt
        defineResource
        defineResourceTemplate
        defineTool
        describeDump
        explainDump
        fromSdkTransport
        keepaliveMachine
        logLevels
        memory
        rootsMachine
        sessionMachine
        sessionOf
        stdio
        toSdkTransport
        type AcceptedBy
        type Annotations
        type AppCsp
        type AppOptions
        type AppPermissions
        type AppResourceSpecification
        type AskInput
        type AskOutcome
        type CachedKind
        type Caching
        type Cause
        type ClientStreams
        type Clock
        type CloseCause
        type ClosedSession
        type Complete
        type ContentBlock
        type ContentOf
        type DefinedPrompt
        type DefinedTool
        type Described
        type Dialect
        type ErrorExposure
        type Fact
        type FactLevel
        type FactName
        type FailedRequest
        type Filled
        type Form
        type FormAnswer
        type FormProperty
        type FormSchema
        type FormSource
        type FromSchema
        type HandlerContext
        type HandlerLog
        type Icon
        type Implementation
        type InboundFrame
        type IncomingCall
        type JsonObject
        type JsonSchema
        type Limits
        type ListedRoot
        type ListenOptions
        type LogLevel
        type LogMethod
        type LoggingOptions
        type MachineName
        type MachineTransition
        type McpServer
        type McpSession
        type MemoryPeer
        type Middleware
        type ModelPreferences
        type ObjectSchema
        type OutboundFrame
        type ParsedBy
        type PeerDescription
        type Principal
        type ProgressReport
        type Prompt
        type PromptArgument
        type PromptArguments
        type PromptMessage
        type PromptOutput
        type PromptSpecification
        type Question
        type ReadResult
        type ReaderEvent
        type ReaderInput
        type Registry
        type RegistryEntry
        type Report
        type RequestId
        type RequestOptions
        type Resource
        type ResourceContents
        type ResourceDescription
        type ResourceTemplate
        type ResourceTemplateSpecification
        type Root
        type RootProblem
        type RootProblemCode
        type RootsFailure
        type RootsReport
        type RootsResolver
        type RootsStatus
        type RuntimeErrorCode
        type Sample
        type SamplingBlock
        type SamplingMessage
        type SamplingRequest
        type SamplingTool
        type Schema
        type SdkSendOptions
        type SdkTransport
        type ServedHttpCall
        type ServedHttpRequest
        type ServerCaching
        type ServerDefinition
        type SessionActorRef
        type SessionDump
        type SessionEmitted
        type SessionEnvironment
        type SessionEvent
        type SessionHandle
        type SessionImplementations
        type SessionInput
        type SessionLogic
        type SessionLogicInput
        type SessionOptions
        type SessionOutput
        type SessionSnapshot
        type SessionState
        type SessionStreams
        type SessionView
        type StandardSchema
        type StdioStreams
        type StructuredOutput
        type Task
        type TaskHandle
        type TaskStatus
        type TaskSupport
        type TitledConstant
        type Tool
        type ToolAnnotations
        type ToolAnswer
        type ToolOutput
        type ToolQuestion
        type ToolResult
        type ToolSpecification
        type ToolUi
        type ToolUse
        type ToolUseResult
        type TrafficItem
        type TrafficListener
        type TransitionListener
        type Transport
        type TransportActors
        type UiVisibility
        type UriTemplate
        type UrlAnswer
        type UrlElicitation
        type UrlRequest
        type Variables
        type VariablesOf
        type WatchedSession
        type Watcher
        type WireError
        type WriterEvent
        type WriterInput
      mcp-actors/inspect
        RecordingError
        RecordingFileError
        differenceText
        inspectPage
        inspectStately
        readRecording
        readRecordingFile
        record
        recordSessions
        recordToFile
        replay
        type Difference
        type InspectPageOptions
        type InspectStatelyOptions
        type InspectedPage
        type NumberedLine
        type RecordOptions
        type RecordedLine
        type RecordedSessionsOptions
        type Recorder
        type Recording
        type RecordingHeader
        type RecordingOptions
        type RecordingSink
        type ReplayOptions
        type ReplayResult
        type StatelyInspection
        type TranscriptConnection
      mcp-actors/http
        StoreUnavailable
        defaultHttpLimits
        defaultTokenLimits
        httpHandler
        newNodeName
        type AuthorizationOptions
        type Creation
        type Delivery
        type EndpointControl
        type EventLimits
        type EventPlace
        type EventStore
        type Followed
        type HeldSession
        type Hold
        type HttpHandler
        type HttpLimits
        type HttpOptions
        type IntrospectionOptions
        type JournalEntry
        type JwtOptions
        type Letter
        type Mailbox
        type MailboxListener
        type NewSession
        type Notice
        type PushLimits
        type RemovalReason
        type Replay
        type RequestInfo
        type Served
        type ServedFor
        type ServerOf
        type SessionLimits
        type SessionRecord
        type SessionStore
        type StoreFault
        type StoreLimits
        type Stores
        type StreamEvent
        type StreamState
        type Taken
        type TokenLimits
        type TouchReport
        type Update
        type VerifiedToken
        type VerifierOptions
      mcp-actors/http/node
        nodeHandler
        type NodeHandler
      mcp-actors/opentelemetry
        openTelemetry
        sessionDurations
        type OpenTelemetryOptions
        type SessionDurationsOptions
      mcp-actors/redis
        redisStores
        type RedisStoresOptions
      mcp-actors/roots
        openInside
        readInside
        resolveInside
        rootsBoundary
        rootsResolver
        type Boundary
        type DirectoryCheckOptions
        type DirectoryProbe
        type InsideFile
        type InsidePath
        type OpenFile
        type OpenOptions
        type PathStyle
        type PrimaryRoot
        type ReadInsideOptions
        type ResolveRootsOptions
        type RootDirectory
        type RootsBoundaryOptions
      mcp-actors/serve
        defaultConnectionLimits
        serve
        serveHttp
        type ConnectionLimits
        type HealthPaths
        type HttpServing
        type LogThreshold
        type ServeHttpOptions
        type ServeOptions
        type ServeOverHttpOptions
      mcp-actors/testing
        ErrorAnswer
        RecordedFacts
        ScriptedPeer
        TestClock
        cancelled
        connect
        converse
        credentialStoreContract
        endOfInputContract
        enveloped
        expectReplay
        failure
        gate
        initialize
        initialized
        isBatchFrame
        isNotificationFrame
        isRequestFrame
        isResponseFrame
        notification
        progressed
        request
        result
        rootsChanged
        serverContract
        storesContract
        toolCall
        transportContract
        turn
        type CallOptions
        type CallResult
        type ClientAnswer
        type ClientAnswers
        type Completion
        type Connect
        type ConnectOptions
        type Connection
        type ContractCase
        type Conversation
        type ConversationOptions
        type CredentialWorld
        type EnvelopeOptions
        type FrameCheck
        type Gate
        type Introduction
        type ListedPrompt
        type ListedResource
        type ListedResourceTemplate
        type ListedTool
        type ListenFilter
        type Listening
        type Message
        type NotificationFrame
        type OpenCredentialWorld
        type OpenStoresWorld
        type PeerOptions
        type PromptResult
        type RequestFrame
        type ResourceResult
        type ResponseFrame
        type StoresCase
        type StoresWorld
        type TestClient
        type Wire"
    `);
  });
});
