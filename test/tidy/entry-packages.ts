/**
 * The packages that each entry loads when it starts, through all that it imports; the service's own
 * thread with what nearly every service needs soon. A thread has its own copy of each: zod is 13 MB and 50 ms of a core
 * in every thread that one constant of a schema's file comes from.
 */
import { finding, type Law } from './source.ts';

/** Entry -> what it may load at its start; what it imports when it needs it (`await import`) is not counted. */
const loaded: Readonly<Record<string, readonly string[]>> = {
  'src/cli/serve.ts': [
    'hdr-histogram-js/dist/JsHistogramFactory.js',
    'ipaddr.js',
    'isbot',
    'jose/errors',
    'jose/jwt/sign',
    'jose/jwt/verify',
    'lmdb',
    'lru-cache',
    'marked',
    'mmdb-lib',
    'msgpackr',
    'p-limit',
    'pino',
    'piscina',
    'prom-client',
    'uWebSockets.js',
    'zod',
    'zod-openapi',
  ],
  'src/scans/shard.worker.ts': ['bowser', 'isbot', 'lmdb', 'mmdb-lib', 'msgpackr'],
  // Rules ask for device and browser, and an answer cannot wait until its parser is loaded: 1 MB a thread.
  'src/http/redirect.worker.ts': [
    'bowser',
    'hdr-histogram-js/dist/JsHistogramFactory.js',
    'ipaddr.js',
    'isbot',
    'mmdb-lib',
    'uWebSockets.js',
  ],
  'src/cluster/scans/scan-transfer.worker.ts': ['lmdb', 'msgpackr'],
  'src/images/render.worker.ts': ['qrcode'],
  'src/webhooks/attempt/attempt.worker.ts': ['ipaddr.js', 'lru-cache', 'undici'],
};

/** `import` reads every export of it, which loads Node's HTTP client and HTTP/2: 13 MB. */
const heavyModule = 'node:http';

export const checkEntryPackages: Law = (sources) => {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  return Object.entries(loaded).flatMap(([path, packages]) => {
    const entry = byPath.get(path);
    if (entry === undefined) return [`${path} is missing; put its new path into entry-packages.ts`];
    const findings: string[] = [];
    // The loop also visits what is added to the set on the way.
    const reached = new Set([entry]);
    for (const source of reached) {
      for (const { from, target, isTypeOnly, isDeferred, offset } of source.imports) {
        if (isTypeOnly || isDeferred) continue;
        const next = target === undefined ? undefined : byPath.get(target);
        if (next !== undefined) reached.add(next);
        if (target !== undefined || packages.includes(from)) continue;
        if (from.startsWith('node:') && from !== heavyModule) continue;
        const instead = from === heavyModule ? 'process.getBuiltinModule' : 'a file without it';
        findings.push(
          finding(source, offset, `${path} loads ${from} at its start; use ${instead}`),
        );
      }
    }
    return findings;
  });
};
