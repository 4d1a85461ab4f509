/**
 * The eleven doors of src, in reading order. A door imports only the doors in its row; a type is a dependency like any
 * other. oxlint finds circles within a door (`import/no-cycle`).
 */
import { finding, type Import, type Law } from './source.ts';

/** A door -> the doors that its files may import, besides their own and `model`. */
const doors: Readonly<Record<string, string>> = {
  operations: 'cluster app product engine store platform',
  cluster: 'app api product webhooks engine store platform',
  app: 'dashboard api product webhooks engine store platform',
  dashboard: '',
  api: 'product webhooks engine platform',
  product: 'webhooks engine store platform',
  webhooks: 'engine store platform',
  engine: 'store platform',
  store: '',
  platform: '',
  model: '',
};

/** A folder of product imports no other one, except these. */
const productParts: Readonly<Record<string, string>> = {
  campaigns: 'codes',
  reports: 'workspaces',
};

/** A library -> where in src it lives. */
const homes: Readonly<Record<string, string>> = {
  lmdb: 'store',
  msgpackr: 'store',
  piscina: 'platform/workers',
  'uWebSockets.js': 'platform/uws engine/redirect api/server',
  undici: 'cluster webhooks/attempt',
  '@nats-io/transport-node': 'cluster/nats',
  '@nats-io/jetstream': 'cluster/nats',
  zod: 'platform/config app/administration api product/images/design',
  'zod-openapi': 'api',
  pino: 'platform',
  qrcode: 'product/images',
  sharp: 'product/images',
  pdfkit: 'product/images',
  'zxing-wasm': 'product/images',
  fflate: 'product/images',
  'ipaddr.js': 'model/address.ts',
  stripe: 'product/billing',
  '@zxcvbn-ts/language-common': 'product/workspaces',
  nodemailer: 'product/mail',
  'mmdb-lib': 'engine/visitor/geo',
  'd3-geo': 'dashboard/analytics/map',
  'topojson-client': 'dashboard/analytics/map',
  'world-atlas': 'dashboard/analytics',
};

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
    return `${from} lives in ${home}; use what that folder exports`;
  }
  if (!target.startsWith('src/')) {
    const isDefaults = target === 'config/default.json';
    return isDefaults ? undefined : `src imports ${target}; move what it needs into src`;
  }
  if (target.endsWith('.worker.ts') && !isTypeOnly) {
    return `${target} is a thread entry; start it with new URL('…', import.meta.url), share code in a plain file`;
  }
  const [door, part] = placeOf(path);
  const [to, toPart] = placeOf(target);
  if (target === 'src/platform/config/config.ts' && !isTypeOnly && door !== 'operations') {
    return `${door} reads the configuration; take the values as parameters, or import type`;
  }
  if (target === 'src/platform/system-clock.ts' && !takesTheClock.test(path)) {
    return `${door} takes the clock of the machine; take a Clock as a parameter`;
  }
  const isOther = door === 'product' && to === door && part !== toPart;
  if (isOther && productParts[part] !== toPart) {
    return `product/${part} may not import product/${toPart}; take it as a parameter, or move it down`;
  }
  // What starts the process reaches everything.
  if (door === 'main.ts' || door === to || to === 'model') return undefined;
  if (doors[door]?.split(' ').includes(to)) return undefined;
  return `${door} may not import ${target}; take it as a parameter, or move it down`;
}

/** What wires a process, and thread entries. */
const takesTheClock = /^src\/(operations|cluster|app)\/|\.worker\.ts$/;

/** `src/engine/journal/writer.ts` -> `engine`, `journal`. */
function placeOf(path: string): [door: string, part: string] {
  const [, door = '', part = ''] = path.split('/');
  return [door, part];
}

/** `zod/v4` -> `zod`, `@nats-io/jetstream/x` -> `@nats-io/jetstream`. */
const packageOf = (from: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from;

/** `store model/address.ts` covers all of `src/store/`, and `src/model/address.ts`. */
const covers = (places: string, path: string): boolean =>
  places.split(' ').some((place) => `${path}/`.startsWith(`src/${place}/`));
