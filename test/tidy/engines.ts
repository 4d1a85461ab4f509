/**
 * Laws 2 and 3: one module per engine, one place for each thing that a test must be able to hand in,
 * thread entries, and hot files that never wait.
 */
import type { Finding, Source } from './source.ts';

/** Package -> where in src it lives, as path prefixes. */
const homes: Readonly<Record<string, readonly string[]>> = {
  lmdb: ['src/store/'],
  msgpackr: ['src/store/'],
  piscina: ['src/workers/'],
  'uWebSockets.js': ['src/http/'],
  zod: ['src/config.ts', 'src/api/', 'src/images/design'],
  'zod-openapi': ['src/api/'],
  pino: ['src/telemetry/'],
  qrcode: ['src/images/'],
  sharp: ['src/images/'],
  pdfkit: ['src/images/'],
  'zxing-wasm': ['src/images/'],
  fflate: ['src/images/'],
  'ipaddr.js': ['src/model/address.ts'],
  stripe: ['src/billing/'],
  '@zxcvbn-ts/language-common': ['src/workspaces/common-passwords.ts'],
  nodemailer: ['src/mail/'],
  'd3-geo': ['src/dashboard/analytics/map/'],
  'topojson-client': ['src/dashboard/analytics/map/'],
  'world-atlas': ['src/dashboard/analytics/'],
  '@nats-io/transport-node': ['src/cluster/'],
  '@nats-io/jetstream': ['src/cluster/'],
};

/**
 * The path of a request or a scan has no `await`: a promise would delay the whole reply batch. Beside each file
 * stand its functions that are not on that path and may wait.
 */
export const hotFiles: Readonly<Record<string, readonly string[]>> = {
  // What stops listening waits for open connections.
  'src/http/redirect.worker.ts': ['drain', 'handOver', 'leave'],
  'src/http/redirect.ts': [],
  'src/http/conditional/conditional-link.ts': [],
  'src/http/conditional/scan-facts.ts': [],
  'src/http/reply-batch.ts': [],
  'src/links/reader.ts': [],
  'src/routes/program-reader.ts': [],
  // The disk sync is awaited beside the path, by a timer or by `power` durability.
  'src/scans/journal/writer.ts': ['close', 'syncAll', 'syncCovering'],
  'src/scans/code-actor.ts': [],
  'src/scans/window.ts': [],
};

/** What a test must hand in -> the only file that may take it from the machine, and the way out. */
const machine: Readonly<Record<string, { only: string; instead: string }>> = {
  'process.env': { only: 'src/environment.ts', instead: 'a setting in config.ts, handed down' },
  'Date.now': { only: 'src/system-clock.ts', instead: 'clock.now() of a Clock handed in' },
  'performance.now': {
    only: 'src/system-clock.ts',
    instead: 'clock.monotonicMs() of a Clock handed in',
  },
  'performance.timeOrigin': { only: 'src/system-clock.ts', instead: 'a Clock handed in' },
  'process.hrtime': {
    only: 'src/system-clock.ts',
    instead: 'clock.monotonicMs() of a Clock handed in',
  },
  'process.uptime': {
    only: 'src/system-clock.ts',
    instead: 'clock.monotonicMs() of a Clock handed in',
  },
  'Math.random': { only: 'src/main.ts', instead: 'a source of randomness handed in' },
};

/** Modules whose named imports are the same things under another name. */
const disguises: Readonly<Record<string, readonly string[]>> = {
  'node:process': ['env', 'hrtime', 'uptime'],
  process: ['env', 'hrtime', 'uptime'],
  'node:perf_hooks': ['performance'],
  'node:console': ['*'],
  console: ['*'],
};

/** The browser has a clock of its own: the one file of the dashboard that asks for it. */
const browserMachine = 'src/dashboard/client/browser-clock.ts';

const inSource = (source: Source): boolean => source.path.startsWith('src/');

export function checkEngines(sources: readonly Source[]): Finding[] {
  return sources.filter(inSource).flatMap((source) => [...packages(source), ...machines(source)]);
}

function packages(source: Source): Finding[] {
  const findings: Finding[] = [];
  for (const { from, names, line } of source.imports) {
    const home = homes[from] ?? homes[from.split('/')[0] ?? ''];
    if (home !== undefined && !home.some((prefix) => source.path.startsWith(prefix))) {
      const message = `${from} lives in ${home.join(', ')} alone; use what that module exports`;
      findings.push({ path: source.path, line, message });
    }
    const disguised = disguises[from];
    if (disguised === undefined) continue;
    const taken = names.filter((name) => disguised.includes('*') || disguised.includes(name));
    if (taken.length > 0) {
      const message = `${taken.join(', ')} of ${from} hides the machine; use a parameter, or the global where it is allowed`;
      findings.push({ path: source.path, line, message });
    }
  }
  return findings;
}

function machines(source: Source): Finding[] {
  const findings: Finding[] = [];
  const { path } = source;
  source.visit({
    MemberExpression(node) {
      if (node.object.type !== 'Identifier') return;
      if (node.object.name === 'console' && path !== 'src/main.ts') {
        findings.push(
          source.finding(node.start, 'console is for main.ts; use the Logger handed in'),
        );
      }
      const key = node.property;
      const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? key.value : '';
      const found = machine[`${node.object.name}.${String(name)}`];
      if (found === undefined || found.only === path || path === browserMachine) return;
      const what = `${node.object.name}.${String(name)}`;
      findings.push(
        source.finding(node.start, `${what} is for ${found.only}; use ${found.instead}`),
      );
    },
    VariableDeclarator(node) {
      if (node.id.type !== 'ObjectPattern' || node.init?.type !== 'Identifier') return;
      for (const property of node.id.properties) {
        if (property.type !== 'Property' || property.key.type !== 'Identifier') continue;
        const found = machine[`${node.init.name}.${property.key.name}`];
        if (found === undefined || found.only === path) continue;
        const what = `${node.init.name}.${property.key.name}`;
        findings.push(
          source.finding(node.start, `${what} is for ${found.only}; use ${found.instead}`),
        );
      }
    },
    NewExpression(node) {
      const isNow = node.callee.type === 'Identifier' && node.callee.name === 'Date';
      if (isNow && node.arguments.length === 0 && path !== 'src/system-clock.ts') {
        findings.push(
          source.finding(
            node.start,
            'new Date() reads the clock; use clock.now() of a Clock handed in',
          ),
        );
      }
    },
  });
  return findings;
}

/** @param hot the hot files, each of which must exist, with their functions that may wait */
export function checkHotFiles(
  sources: readonly Source[],
  hot: Readonly<Record<string, readonly string[]>>,
): Finding[] {
  return Object.entries(hot).flatMap(([path, mayWait]) => {
    const source = sources.find((candidate) => candidate.path === path);
    if (source !== undefined) return waits(source, mayWait);
    const message = 'hot file is missing; put its new path into hotFiles in test/tidy/engines.ts';
    return [{ path, line: 1, message }];
  });
}

function waits(source: Source, mayWait: readonly string[]): Finding[] {
  const message = 'await in a hot file; do the work in this cycle, or move it to a file beside it';
  const allowed: Array<{ readonly start: number; readonly end: number }> = [];
  const found: number[] = [];
  source.visit({
    FunctionDeclaration(node) {
      if (mayWait.includes(node.id?.name ?? '')) allowed.push(node);
    },
    MethodDefinition(node) {
      const { key } = node;
      const isNamed = key.type === 'Identifier' || key.type === 'PrivateIdentifier';
      if (isNamed && mayWait.includes(key.name)) allowed.push(node);
    },
    AwaitExpression: (node) => void found.push(node.start),
    ForOfStatement: (node) => void (node.await ? found.push(node.start) : 0),
  });
  return found
    .filter((offset) => !allowed.some(({ start, end }) => start < offset && offset < end))
    .map((offset) => source.finding(offset, message));
}
