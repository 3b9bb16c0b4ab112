/** Runs the micro-benchmarks in the process that `main.ts` starts, from a bundle, so that no loader is measured with them. */
import { measure } from 'mitata';
import { codecCases } from './codec-cases.ts';
import { correlationCases } from './correlation-cases.ts';
import { sessionCases } from './session-cases.ts';

const isQuick = process.argv.includes('--quick');
const options = isQuick ? { min_cpu_time: 50e6 } : { min_cpu_time: 500e6 };

const cases = [...codecCases, ...correlationCases, ...(await sessionCases())];
console.log('| what | median, ns | p99, ns |\n| --- | ---: | ---: |');
for (const { name, messages, run } of cases) {
  const { p50, p99 } = await measure(run, options);
  const perMessage = (nanoseconds) => (nanoseconds / messages).toFixed(0);
  console.log(`| ${name} | ${perMessage(p50)} | ${perMessage(p99)} |`);
}
