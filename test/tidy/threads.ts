/**
 * What the threads of the service load and wait for. Each entry loads its own packages at its start, through all that it
 * imports; the service's own thread with what nearly every service needs soon. A thread has its own copy of each: zod is
 * 13 MB and 50 ms of a core in every thread that one constant of a schema's file comes from.
 *
 * The path of a request or a scan has no `await`, for a promise would delay the whole reply batch, and no log.
 */
import { Visitor } from 'oxc-parser';
import { finding, type Law, type Source } from './source.ts';

/** Entry -> what it may load at its start; what it imports when it needs it (`await import`) is not counted. */
const loaded: Readonly<Record<string, readonly string[]>> = {
  'src/operations/serve.ts': [
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
  'src/engine/counting/shard.worker.ts': ['bowser', 'isbot', 'lmdb', 'mmdb-lib', 'msgpackr'],
  // Rules ask for device and browser, and an answer cannot wait until its parser is loaded: 1 MB a thread.
  'src/engine/redirect/redirect.worker.ts': [
    'bowser',
    'hdr-histogram-js/dist/JsHistogramFactory.js',
    'ipaddr.js',
    'isbot',
    'mmdb-lib',
    'uWebSockets.js',
  ],
  'src/cluster/scans/scan-transfer.worker.ts': ['lmdb', 'msgpackr'],
  'src/product/images/render.worker.ts': ['qrcode'],
  'src/webhooks/attempt/attempt.worker.ts': ['ipaddr.js', 'lru-cache', 'undici'],
};

/** `import` reads every export of it, which loads Node's HTTP client and HTTP/2: 13 MB. */
const heavyModule = 'node:http';

export const checkEntryPackages: Law = (sources) => {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  return Object.entries(loaded).flatMap(([path, packages]) => {
    const entry = byPath.get(path);
    if (entry === undefined) return [`${path} is missing; put its new path into threads.ts`];
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

/** Beside each file stand its functions that are not on that path and may wait. */
const hotFiles: Readonly<Record<string, readonly string[]>> = {
  // What stops listening waits for open connections.
  'src/engine/redirect/redirect.worker.ts': ['drain', 'handOver', 'leave'],
  'src/engine/redirect/redirect.ts': [],
  'src/engine/redirect/conditional-link.ts': [],
  'src/engine/redirect/reply-batch.ts': [],
  'src/engine/links/reader.ts': [],
  'src/engine/routes/program-reader.ts': [],
  // The disk sync is awaited beside the path, by a timer or by `power` durability.
  'src/engine/journal/writer.ts': ['close', 'syncAll', 'syncCovering'],
  'src/engine/counting/code-actor.ts': [],
  'src/engine/counting/window.ts': [],
};

const logs = /^src\/platform\/.*(log|warning)/;

export const checkHotFiles: Law = (sources) =>
  Object.entries(hotFiles).flatMap(([path, mayWait]) => {
    const source = sources.find((candidate) => candidate.path === path);
    if (source === undefined) return [`${path} is missing; put its new path into hotFiles`];
    const logging = source.imports
      .filter(({ target }) => logs.test(target ?? ''))
      .map(({ offset }) => finding(source, offset, 'a log in a hot file; count it, log elsewhere'));
    return [...logging, ...waits(source, mayWait)];
  });

function waits(source: Source, mayWait: readonly string[]): string[] {
  const message = 'await in a hot file; do the work in this cycle, or move it to a file beside it';
  const allowed: Array<{ readonly start: number; readonly end: number }> = [];
  const offsets: number[] = [];
  new Visitor({
    FunctionDeclaration(node) {
      if (mayWait.includes(node.id?.name ?? '')) allowed.push(node);
    },
    MethodDefinition(node) {
      const { key } = node;
      const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier';
      if (isNamed && mayWait.includes(key.name)) allowed.push(node);
    },
    AwaitExpression: ({ start }) => void offsets.push(start),
    ForOfStatement(node) {
      if (node.await) offsets.push(node.start);
    },
  }).visit(source.program);
  return offsets
    .filter((offset) => !allowed.some(({ start, end }) => start < offset && offset < end))
    .map((offset) => finding(source, offset, message));
}
