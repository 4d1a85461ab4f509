/**
 * Imports go down only, along these arrows; a type of a module above is a dependency like any other.
 * oxlint finds circles within a module (`import/no-cycle`).
 */
import { finding, type Import, type Law } from './source.ts';

/** Open to every module but `model`. */
const everywhere = 'model telemetry shipped.ts';

/**
 * From low to high: a module -> the modules, folders and files of src that it may import beside `everywhere`; `*` is
 * every row above it. `src/x.ts` is the module `x.ts`.
 */
const arrows: Readonly<Record<string, string>> = {
  model: '',
  'shipped.ts': '',
  telemetry: '',
  'environment.ts': '',
  'config-schema.ts': '',
  'config.ts': 'config-schema.ts environment.ts',
  'system-clock.ts': '',
  routes: '',
  store: 'routes',
  workers: '',
  outbox: 'store',
  links: 'routes',
  cluster: `store scans links workers http api/codes/bulk-gate.ts api/health.ts api/kernel/problem.ts
    platform/small-files.ts app/folder/data-folder.ts app/folder/backup/copy-data.ts app/folder/backup/folder-access.ts
    app/folder/backup/system-reason.ts app/folder/backup/copy-files.ts app/folder/data-files.ts
    app/folder/backup/manifest.ts app/folder/folder-parts.ts
    app/folder/installation.ts app/folder/key-files.ts engine/commands
    app/upgrade/messages.ts`,
  scans: 'store outbox links workers',
  codes: 'store outbox links routes',
  campaigns: `store outbox codes engine/analytics/analytics.ts engine/analytics/answers.ts engine/analytics/filter.ts
    engine/analytics/subject.ts`,
  watches: `store outbox engine/analytics/analytics.ts engine/analytics/subject.ts
    webhooks/attempt/target-checker.ts`,
  workspaces: 'store outbox',
  billing: 'store outbox',
  reports: `store workspaces engine/redirect/pages/colors.ts engine/analytics/analytics.ts engine/analytics/answers.ts
    engine/analytics/queries.ts engine/analytics/subject.ts`,
  webhooks:
    'store outbox workers engine/counting/stored-blocks.ts engine/counting/block.ts engine/counting/scanned-event.ts',
  images: 'store workers',
  mail: '',
  dashboard: '',
  http: 'links routes scans workers/supervised-thread.ts dashboard/paths.ts',
  api: `outbox routes scans codes campaigns watches workspaces billing reports webhooks images http
    config.ts system-clock.ts mail/emails.ts`,
  engine: 'store workers links scans http environment.ts config.ts workspaces/signing-keys.ts',
  'modules.ts': '*',
  administration: '*',
  'services.ts': '*',
  'open-engine.ts': '*',
  'takeover-host.ts': '*',
  'app.ts': '*',
  node: '*',
  cli: `administration app.ts cluster/control/cluster-status.ts cluster/control/leader-actions.ts
    cluster/nodes/node-error.ts
    cluster/nodes/node-file.ts cluster/nodes/node-folder.ts node engine store codes workspaces routes
    http scans environment.ts config.ts system-clock.ts`,
  'main.ts': 'cli app.ts engine environment.ts',
};

/** A library -> where in src it lives. */
const homes: Readonly<Record<string, string>> = {
  lmdb: 'store',
  msgpackr: 'store',
  piscina: 'workers',
  'uWebSockets.js': 'http',
  undici: 'cluster webhooks/attempt',
  '@nats-io/transport-node': 'cluster/nats',
  '@nats-io/jetstream': 'cluster/nats',
  zod: 'config.ts config-schema.ts administration api images/design',
  'zod-openapi': 'api',
  pino: 'telemetry',
  qrcode: 'images',
  sharp: 'images',
  pdfkit: 'images',
  'zxing-wasm': 'images',
  fflate: 'images',
  'ipaddr.js': 'model/address.ts',
  stripe: 'billing',
  '@zxcvbn-ts/language-common': 'workspaces/common-passwords.ts',
  nodemailer: 'mail',
  'mmdb-lib': 'scans/visitor/geo',
  'd3-geo': 'dashboard/analytics/map',
  'topojson-client': 'dashboard/analytics/map',
  'world-atlas': 'dashboard/analytics',
};

const rows = Object.keys(arrows);

export const checkArrows: Law = (sources) =>
  sources.flatMap((source) =>
    source.imports.flatMap((imported) => {
      const message = refuse(source.path, imported);
      return message === undefined ? [] : [finding(source, imported.offset, message)];
    }),
  );

function refuse(path: string, { from, target, isTypeOnly }: Import): string | undefined {
  if (target === undefined) {
    const home = homes[packageOf(from)];
    if (home === undefined || covers(home, path)) return undefined;
    return `${from} lives in ${home}; use what that module exports`;
  }
  if (!target.startsWith('src/')) {
    const isDefaults = target === 'config/default.json';
    return isDefaults ? undefined : `src imports ${target}; move what it needs into src`;
  }
  if (target.endsWith('.worker.ts') && !isTypeOnly) {
    return `${target} is a thread entry; start it with new URL('…', import.meta.url), share code in a plain file`;
  }
  const [module, above] = [moduleOf(path), moduleOf(target)];
  if (module === above || covers(allowedOf(module), target)) return undefined;
  if (above === 'config.ts') {
    if (isTypeOnly && module !== 'model') return undefined;
    return `${module} reads the configuration; take the values as parameters, or import type`;
  }
  if (above === 'system-clock.ts') {
    if (path.endsWith('.worker.ts')) return undefined;
    return `${module} takes the clock of the machine; take a Clock as a parameter`;
  }
  return `${module} may not import ${target}; take it as a parameter, move it down, or see test/tidy/arrows.ts`;
}

/** `src/engine/journal/writer.ts` -> `scans`, `src/app/app.ts` -> `app.ts`. */
const moduleOf = (path: string): string => path.split('/')[1] ?? '';

/** `zod/v4` -> `zod`, `@nats-io/jetstream/x` -> `@nats-io/jetstream`. */
const packageOf = (from: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from;

function allowedOf(module: string): string {
  const row = arrows[module];
  if (row === undefined || module === 'model') return '';
  return `${everywhere} ${row === '*' ? rows.slice(0, rows.indexOf(module)).join(' ') : row}`;
}

/** `store engine/counting/block.ts` covers all of `src/store/`, and `src/engine/counting/block.ts`. */
const covers = (places: string, path: string): boolean =>
  places.split(/\s+/).some((place) => `${path}/`.startsWith(`src/${place}/`));
