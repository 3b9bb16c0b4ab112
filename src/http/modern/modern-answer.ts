/** The answer to a request of the modern era. If its client leaves, the request is cancelled. */
import { ErrorCode } from '../../protocol/errors.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import { RequestAnswer } from '../request-answer.ts';

export class ModernAnswer extends RequestAnswer {
  protected override readonly streams = true;
  protected override readonly headers = {};

  /** Nobody takes anything of it any more. */
  leave(): void {
    this.state = { name: 'over' };
  }

  /** @see MCP 2026-07-28, basic/transports, "Streamable HTTP" */
  protected override statusOf(frame: OutboundFrame): number {
    const code = 'error' in frame ? frame.error.code : undefined;
    if (code === undefined) return 200;
    return statusOfError.get(code) ?? 200;
  }

  protected override opening(): string {
    return '';
  }

  protected override eventOf(text: string): string {
    return `data: ${text}\n`;
  }

  protected override ended(): void {}
}

const statusOfError = new Map<number, number>([
  [ErrorCode.methodNotFound, 404],
  [ErrorCode.missingClientCapability, 400],
  [ErrorCode.unsupportedProtocolVersion, 400],
]);
