/**
 * Runs the micro-benchmarks in the process started by `main.ts`, from a bundle, so that no module
 * loader is measured.
 */
import { measure } from 'mitata';
import { codecCases } from './codec-cases.ts';
import { correlationCases } from './correlation-cases.ts';
import { sessionCases } from './session-cases.ts';

const isQuick = process.argv.includes('--quick');
const warmUpMs = isQuick ? 200 : 1_000;
const options = isQuick ? { min_cpu_time: 50e6 } : { min_cpu_time: 500e6 };

/** Runs until JIT compilation is done; mitata's own warm-up is only a few runs. */
async function warmUp(run) {
  const end = performance.now() + warmUpMs;
  while (performance.now() < end) await run();
}

const cases = [...codecCases, ...correlationCases, ...(await sessionCases())];
console.log('| what | median, ns | p99, ns |\n| --- | ---: | ---: |');
for (const { name, messages, run } of cases) {
  await warmUp(run);
  const { p50, p99 } = await measure(run, options);
  const perMessage = (nanoseconds) => (nanoseconds / messages).toFixed(0);
  console.log(`| ${name} | ${perMessage(p50)} | ${perMessage(p99)} |`);
}
