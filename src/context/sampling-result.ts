/** Reads what a client gives for `sampling/createMessage`: one block or many become a list. */
import { describe, isJsonObject } from '../protocol/classify.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { Sample, SamplingBlock } from './sampling.ts';

/**
 * The result of sampling in one shape.
 *
 * @throws {RuntimeError} INVALID_RESPONSE with what is wrong, and where
 */
export function readSample(result: JsonObject): Sample {
  const { role, model, stopReason, content } = result;
  if (role !== 'user' && role !== 'assistant') {
    throw invalid(`"role" must be "user" or "assistant", this is ${describe(role)}`);
  }
  if (typeof model !== 'string')
    throw invalid(`"model" must be a string, this is ${describe(model)}`);
  const list: readonly unknown[] = Array.isArray(content) ? content : [content];
  const blocks = list.map((block, at) =>
    readBlock(block, Array.isArray(content) ? `content[${at}]` : 'content'),
  );
  return {
    role,
    content: blocks,
    text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join(''),
    toolUses: blocks.flatMap((block) => (block.type === 'tool_use' ? [block] : [])),
    model,
    ...(typeof stopReason === 'string' ? { stopReason } : {}),
  };
}

type Test = (value: unknown) => boolean;
const isString: Test = (value) => typeof value === 'string';

/** What each type of block must have. */
const members: { readonly [type: string]: { readonly [member: string]: Test } } = {
  text: { text: isString },
  image: { data: isString, mimeType: isString },
  audio: { data: isString, mimeType: isString },
  tool_use: { id: isString, name: isString, input: isJsonObject },
  tool_result: { toolUseId: isString, content: Array.isArray },
};

function readBlock(block: unknown, where: string): SamplingBlock {
  if (!isJsonObject(block)) throw invalid(`${where} must be a block, this is ${describe(block)}`);
  const { type } = block;
  const needed =
    typeof type === 'string' && Object.hasOwn(members, type) ? members[type] : undefined;
  if (!needed) {
    const known = Object.keys(members).join(', ');
    throw invalid(`${where} must have a type of ${known}; this is ${describe(type)}`);
  }
  for (const [member, isRight] of Object.entries(needed)) {
    if (isRight(block[member])) continue;
    throw invalid(
      `${where} is a ${type as string} with a wrong "${member}": ${describe(block[member])}`,
    );
  }
  return block as unknown as SamplingBlock;
}

function invalid(fault: string): RuntimeError {
  const message = `The client's result of sampling/createMessage is malformed: ${fault}`;
  return new RuntimeError('INVALID_RESPONSE', message);
}
