/** The parts of an endpoint that an exchange needs. */
import { TestClock } from '../../testing/src/index.ts';
import { Bodies } from '../src/bodies.ts';
import type { HttpFactName, HttpReport } from '../src/facts.ts';
import type { ExchangeContext } from '../src/http-exchange.ts';
import { defaultHttpLimits } from '../src/options.ts';
import type { HttpLimits } from '../src/options.ts';
import { Maintenance } from '../src/maintenance.ts';

export interface TestExchangeContext extends ExchangeContext {
  readonly clock: TestClock;
  readonly facts: readonly { readonly name: HttpFactName; readonly message: string }[];
}

/** Creates them with maintenance every 10 ms of a controlled clock. */
export function exchangeContext(limits: Partial<HttpLimits> = {}): TestExchangeContext {
  const clock = new TestClock();
  const facts: { readonly name: HttpFactName; readonly message: string }[] = [];
  const report: HttpReport = (fact) => void facts.push(fact);
  const maintenance = new Maintenance(clock, 10);
  const parts = { clock, maintenance, report, limits: { ...defaultHttpLimits, ...limits } };
  return { ...parts, facts, bodies: new Bodies(parts) };
}
