/** Cold start: from launch to the first responses. */
import { areTools, initialize, isIntroduction, listTools } from '../conversation.ts';
import type { Measure } from './measure.ts';

export const start: Measure = {
  name: 'start',
  isShort: true,
  metrics: [
    { key: 'start.initialize', title: 'start to the initialize reply', unit: 'ms', isRatio: true },
    { key: 'start.tools', title: 'start to the first tools/list', unit: 'ms', isRatio: true },
    { key: 'start.cpu', title: 'CPU until then', unit: 'ms', isRatio: true },
  ],
  run: async ({ launch }) => {
    const launchedAt = performance.now();
    return launch(async (client) => {
      await client.request(initialize, isIntroduction);
      const initializeMs = client.receivedAt - launchedAt;
      client.write([{ jsonrpc: '2.0', method: 'notifications/initialized' }]);
      await client.request(listTools, areTools);
      return {
        'start.initialize': initializeMs,
        'start.tools': client.receivedAt - launchedAt,
        'start.cpu': client.cpuMs,
      };
    });
  },
};
