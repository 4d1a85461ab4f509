/**
 * autocannon: at a fixed rate, the same for everyone, so that latencies compare; and as fast as it can
 * where wrk is missing. It needs more CPU for a request than the servers do, so on two cores its own
 * speed is what its "requests a second" show: read the CPU per request instead.
 */
import autocannon from 'autocannon';
import type { Generator, LoadResult, LoadSpec } from './load.ts';

const redirectStatus = 302;

export const autocannonGenerator: Generator = { name: 'autocannon', run: runAutocannon };

async function runAutocannon(spec: LoadSpec): Promise<LoadResult> {
  const perConnection = Math.ceil(spec.requests.length / spec.connections);
  let connection = 0;
  let answered = 0;
  let wrong = 0;
  const result = await autocannon({
    url: `${spec.scheme ?? 'http:'}//127.0.0.1:${spec.port}`,
    connections: spec.connections,
    duration: spec.seconds,
    // It ends with a sample, which is a second unless set otherwise.
    sampleInt: Math.min(1, spec.seconds) * 1e3,
    ...(spec.rate === undefined ? {} : { overallRate: spec.rate }),
    setupClient: (client) => {
      const first = connection++ * perConnection;
      const own = spec.requests.slice(first, first + perConnection);
      const requests = own.length > 0 ? own : spec.requests;
      client.setRequests(
        requests.map(({ path, headers }) => ({
          method: spec.method,
          path,
          headers: { ...headers },
        })),
      );
      client.on('response', (status) => {
        answered++;
        if (status !== redirectStatus) wrong++;
      });
    },
  });
  return {
    requests: answered,
    seconds: (result.finish.getTime() - result.start.getTime()) / 1e3,
    failed: wrong + result.errors + result.timeouts,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
  };
}
