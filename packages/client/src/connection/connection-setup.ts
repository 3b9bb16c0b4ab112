/** Derives the setup of a connection from its options and its server's remembered era. */
import type { Era, EraKnowledge } from './connection-context.ts';
import { processRestart, restartPolicyWith } from '../channel/restart-option.ts';
import type { RestartPolicy } from '../channel/restart-policy.ts';
import type { RestartOption } from '../channel/restart-option.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { Implementation } from '../../../../src/protocol/implementation.ts';
import { tasksExtension } from '../../../../src/protocol/tasks.ts';
import type { Answers } from '../asked/answers.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import { knownEra } from './era.ts';
import { connectionLimitsWith } from './limits.ts';
import type { ConnectionLimits } from './limits.ts';

/**
 * Setup of a connection. Recordings store it in their header, so it contains no HTTP headers,
 * tokens or variables.
 */
export interface ConnectionSetup {
  /** The host's name for the server. */
  readonly name: string;
  readonly shows: ChannelKind['shows'];
  readonly restart: RestartPolicy;
  /** Prior knowledge of the server's era. */
  readonly era: EraKnowledge;
  /** The only era that the host accepts. */
  readonly wanted?: Era;
  /** Self-description of the host. */
  readonly clientInfo: Implementation;
  readonly capabilities: { readonly [era in Era]: JsonObject };
  /** Methods that the server may call. */
  readonly methods: readonly string[];
  readonly limits: ConnectionLimits;
}

/** Initial options of a connection. */
interface SetupOptions {
  readonly kind: ChannelKind;
  readonly name?: string;
  readonly clientInfo?: Implementation;
  readonly era?: Era;
  /** Era to try first if `era` is undefined. The other one is then tried over the same channel. */
  readonly supposedEra?: 'legacy';
  readonly limits?: Partial<ConnectionLimits>;
  readonly restart?: RestartOption;
}

const anonymousHost = { name: 'mcp-actors', version: '0.1.0' };

/** @throws {RangeError} an option is out of range */
export function setupOf(options: SetupOptions, answers: Answers): ConnectionSetup {
  const { kind, name = kind.name, restart, clientInfo = anonymousHost, era, limits } = options;
  return {
    name,
    shows: kind.shows,
    restart:
      kind.restart === 'none' && restart === undefined
        ? 'none'
        : restartPolicyWith(restart, kind.restart === 'none' ? processRestart : kind.restart),
    era: eraWanted(era) ?? eraSupposed(options) ?? knownEra(kind.eraKey),
    ...(era === undefined ? {} : { wanted: era }),
    clientInfo,
    // Modern servers are not notified of root changes.
    capabilities: {
      legacy: answers.capabilities('told'),
      modern: answers.isRaw
        ? answers.capabilities('untold')
        : takingTasks(answers.capabilities('untold')),
    },
    methods: [...answers.handlers.keys()],
    limits: connectionLimitsWith(limits),
  };
}

/** Capabilities since 2026-07-28, where calls may return a task. */
function takingTasks(capabilities: JsonObject): JsonObject {
  const given = capabilities['extensions'] as JsonObject | undefined;
  return { ...capabilities, extensions: { [tasksExtension]: {}, ...given } };
}

function eraSupposed({ supposedEra }: SetupOptions): EraKnowledge | undefined {
  return supposedEra && { kind: supposedEra, by: 'memory' };
}

function eraWanted(era: Era | undefined): EraKnowledge | undefined {
  if (era !== undefined && era !== 'legacy' && era !== 'modern') {
    throw new RangeError(`era must be "legacy" or "modern", got ${inspectValue(era)}`);
  }
  return era === 'legacy' ? { kind: 'legacy', by: 'host' } : era && { kind: 'modern' };
}
