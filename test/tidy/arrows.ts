/**
 * Law 1: imports go down only, along these arrows, and never in a circle.
 * Type imports count: a type of a module above is a dependency like any other.
 */
import type { Finding, Import, Source } from './source.ts';

/** Open to every other module without an arrow; `model` may import neither of the two others. */
const everywhere = ['model', 'telemetry', 'shipped.ts'];

/**
 * Module -> what it may import beside `everywhere`; a path instead of a module opens that file alone.
 * `src/x.ts` is the module `x.ts`. From low to high.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  model: [],
  'shipped.ts': [],
  'shipped.binary.ts': ['shipped.ts'],
  telemetry: [],
  'config-faults.ts': [],
  'environment.ts': [],
  'config-addresses.ts': [],
  'config.ts': ['config-addresses.ts', 'config-faults.ts', 'environment.ts'],
  'system-clock.ts': [],
  routes: [],
  store: ['routes'],
  workers: [],
  outbox: ['store'],
  links: ['routes'],
  cluster: [
    'store',
    'scans',
    'links',
    'workers',
    'http',
    'api/codes/bulk-gate.ts',
    'api/health.ts',
    'api/problem.ts',
    'engine/small-files.ts',
    'engine/data-folder.ts',
    'engine/backup/copy-data.ts',
    'engine/backup/copy-disk.ts',
    'engine/backup/copy-files.ts',
    'engine/backup/folder-damage.ts',
    'engine/backup/manifest.ts',
    'engine/installation/folder-parts.ts',
    'engine/installation/installation.ts',
    'engine/installation/key-files.ts',
  ],
  scans: ['store', 'outbox', 'links', 'workers'],
  codes: ['store', 'outbox', 'links', 'routes'],
  campaigns: [
    'store',
    'outbox',
    'scans/query/analytics.ts',
    'scans/query/answers.ts',
    'scans/query/filter.ts',
    'scans/query/subject.ts',
  ],
  watches: [
    'store',
    'outbox',
    'scans/query/analytics.ts',
    'scans/query/subject.ts',
    'webhooks/attempt/target-checker.ts',
  ],
  workspaces: ['store', 'outbox'],
  billing: ['store', 'outbox'],
  reports: [
    'store',
    'workspaces',
    'http/pages/colours.ts',
    'scans/query/analytics.ts',
    'scans/query/answers.ts',
    'scans/query/queries.ts',
    'scans/query/subject.ts',
  ],
  webhooks: [
    'store',
    'outbox',
    'workers',
    'scans/stored-blocks.ts',
    'scans/block.ts',
    'scans/scanned-event.ts',
  ],
  images: ['store', 'workers'],
  mail: [],
  dashboard: [],
  http: ['links', 'routes', 'scans', 'workers/thread-setup.ts', 'dashboard/paths.ts'],
  api: [
    'outbox',
    'routes',
    'scans',
    'codes',
    'campaigns',
    'watches',
    'workspaces',
    'billing',
    'reports',
    'webhooks',
    'images',
    'http',
    'config.ts',
    'system-clock.ts',
    'mail/letters.ts',
  ],
  engine: [
    'store',
    'workers',
    'links',
    'scans',
    'http',
    'environment.ts',
    'config.ts',
    'workspaces/signing-keys.ts',
  ],
  'modules.ts': ['*'],
  'writers.ts': ['*'],
  'open-engine.ts': ['*'],
  'takeover-host.ts': ['*'],
  'app.ts': ['*'],
  node: ['*'],
  cli: [
    'app.ts',
    'cluster/control/cluster-status.ts',
    'cluster/control/control-proof.ts',
    'cluster/control/node-control.ts',
    'cluster/nodes/cluster-keys.ts',
    'cluster/nodes/node-error.ts',
    'cluster/nodes/node-file.ts',
    'cluster/nodes/node-folder.ts',
    'node',
    'engine',
    'store',
    'codes',
    'workspaces',
    'routes',
    'http',
    'scans',
    'environment.ts',
    'config.ts',
    'system-clock.ts',
  ],
  'main.ts': ['*'],
  'start.mjs': ['main.ts', 'workers'],
};

/** The top: only the process entry runs commands, and nothing runs the entry. */
const importers: Readonly<Record<string, readonly string[]>> = {
  cli: ['main.ts'],
  'modules.ts': ['app.ts', 'node', 'open-engine.ts', 'takeover-host.ts', 'writers.ts'],
  'writers.ts': ['app.ts', 'node', 'open-engine.ts', 'takeover-host.ts'],
  'open-engine.ts': ['app.ts', 'node'],
  'takeover-host.ts': ['app.ts'],
  node: ['cli'],
  'app.ts': ['cli', 'main.ts', 'node'],
  'main.ts': ['start.mjs'],
  'start.mjs': [],
};

/** `src/scans/journal/writer.ts` -> `scans`, `src/app.ts` -> `app.ts`. */
const moduleOf = (path: string): string => path.split('/')[1] ?? '';
const inSource = (path: string): boolean => path.startsWith('src/');

export function checkArrows(sources: readonly Source[]): Finding[] {
  const findings: Finding[] = [];
  for (const source of sources.filter(({ path }) => inSource(path))) {
    const module = moduleOf(source.path);
    const allowed = arrows[module];
    if (allowed === undefined) {
      const message = `module "${module}" has no arrows; put the file in a module that has, or add the module to test/tidy/arrows.ts`;
      findings.push({ path: source.path, line: 1, message });
      continue;
    }
    for (const imported of source.imports) {
      const message = refuse({ source, module, allowed, imported });
      if (message !== undefined) {
        findings.push({ path: source.path, line: imported.line, message });
      }
    }
  }
  return [...findings, ...checkCycles(sources)];
}

function refuse(at: {
  source: Source;
  module: string;
  allowed: readonly string[];
  imported: Import;
}): string | undefined {
  const { source, module, allowed, imported } = at;
  const { target, isTypeOnly } = imported;
  if (target === undefined) return undefined;
  const isEntry = source.path.endsWith('.worker.ts');
  if (!inSource(target)) {
    const isDefaults = target === 'config/default.json';
    return isDefaults ? undefined : `src imports ${target}; move what it needs into src`;
  }
  if (target.endsWith('.worker.ts') && !isTypeOnly) {
    return `${target} is a thread entry; start it with new URL('…', import.meta.url), share code in a plain file`;
  }
  const to = moduleOf(target);
  if (to === module) return undefined;
  const above = importers[to];
  if (above !== undefined && !above.includes(module)) {
    return `${module} imports ${to}, which is above it; move what it needs down`;
  }
  if (allowed.includes('*')) return undefined;
  if (allowed.includes(to) || allowed.some((path) => target === `src/${path}`)) return undefined;
  if (
    module !== 'model' &&
    everywhere.includes(to) &&
    !(module === 'telemetry' && to === 'telemetry')
  ) {
    return undefined;
  }
  if (to === 'config.ts' && (isEntry || (isTypeOnly && module !== 'model'))) return undefined;
  if (to === 'system-clock.ts' && isEntry) return undefined;
  if (to === 'config.ts')
    return `${module} reads the configuration; take the values as parameters, or import type`;
  if (to === 'system-clock.ts')
    return `${module} takes the machine's clock; take a Clock as a parameter`;
  const list = [...everywhere.filter(() => module !== 'model'), ...allowed].join(', ') || 'nothing';
  return `${module} may not import ${to}; it may import ${list}: take it as a parameter, or move it down`;
}

/** Circles of files, each named once at its first file in path order. */
function checkCycles(sources: readonly Source[]): Finding[] {
  const files = new Map(sources.map((source) => [source.path, source]));
  const done = new Set<string>();
  const findings: Finding[] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    const source = files.get(path);
    if (start !== -1) {
      const circle = [...trail.slice(start), path].join(' -> ');
      const last = files.get(trail.at(-1) ?? '');
      const line = last?.imports.find(({ target }) => target === path)?.line ?? 1;
      findings.push({
        path: last?.path ?? path,
        line,
        message: `imports in a circle: ${circle}; move what both need to a file below them`,
      });
      return;
    }
    if (source === undefined || done.has(path)) return;
    for (const { target } of source.imports) {
      if (target !== undefined) walk(target, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of [...files.keys()].sort()) walk(path, []);
  return findings;
}
