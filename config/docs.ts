/**
 * `npm run docs`: writes the parts of the guides that come from the code, between two comments:
 *
 *     <!-- generated: settings -->   settings  config-schema.ts and default.json      events    kinds and causes
 *     ...                            metrics   every registration in src              retries   the default delays
 *     <!-- end -->                   errors    the problem codes                      delivery  a signed request
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { eventCauses, sampleEnvelope } from '../src/api/events/event-schemas.ts';
import { problemKinds } from '../src/api/kernel/problem.ts';
import { eventKinds } from '../src/model/event.ts';
import { configSchema } from '../src/platform/config/config-schema.ts';
import { environmentName } from '../src/platform/config/config.ts';
import { signHeaders } from '../src/webhooks/attempt/signature.ts';
import defaults from './default.json' with { type: 'json' };

const root = join(import.meta.dirname, '..');
const guides = join(root, 'src/api/docs/guides');

const parts: Readonly<Record<string, () => string>> = {
  settings: settingTables,
  metrics: metricTable,
  errors: () =>
    table(
      ['code', 'status', 'meaning'],
      Object.entries(problemKinds).map(([code, { status, meaning }]) => [
        `\`${code}\``,
        String(status),
        meaning,
      ]),
    ),
  events: () =>
    table(
      ['event', 'sent when'],
      eventKinds.map((kind) => [`\`${kind}\``, eventCauses[kind]]),
    ),
  delivery: exampleRequest,
  retries: retryDelays,
};

/** The text of a guide with its generated parts up to date. @throws Error for an unknown part */
function withGeneratedParts(text: string): string {
  return text.replace(
    /<!-- generated: (\w+) -->\n[^]*?<!-- end -->/g,
    (_, name: string): string => {
      const part = parts[name];
      if (part === undefined) throw new Error(`Cannot generate ${name}: no such part`);
      return `<!-- generated: ${name} -->\n\n${part()}\n\n<!-- end -->`;
    },
  );
}

/** Each guide, by its name, as it is and as it should be. */
export function readGuideFiles(): Array<{ name: string; text: string; current: string }> {
  return readdirSync(guides).map((name) => {
    const text = readFileSync(join(guides, name), 'utf8');
    return { name, text, current: withGeneratedParts(text) };
  });
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

interface Setting {
  /** Settings with one description share a row: `billing.prices.*.*`. */
  readonly path: readonly string[];
  readonly value: unknown;
  readonly description: string;
}

function settingTables(): string {
  const groups: Array<[title: string, settings: Setting[]]> = [['General', []]];
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const settings = settingsOf(schema, [name], valueAt(defaults, name));
    if (schema instanceof z.ZodObject) groups.push([schema.description ?? name, settings]);
    else groups[0]?.[1].push(...settings);
  }
  const head = ['setting and variable', 'default', 'meaning'];
  return groups
    .map(([title, settings]) => `## ${title}\n\n${table(head, settings.map(settingRow))}`)
    .join('\n\n');
}

function settingsOf(schema: z.core.$ZodType, path: readonly string[], value: unknown): Setting[] {
  if (!(schema instanceof z.ZodObject)) {
    const { description } = z.globalRegistry.get(schema) ?? {};
    if (description === undefined) throw new Error(`${path.join('.')} has no description`);
    return [{ path, value, description }];
  }
  const fields = Object.entries<z.core.$ZodType>(schema.shape);
  const [[name, first] = ['', schema], ...others] = fields;
  const areAlike = others.length > 0 && others.every(([, field]) => field === first);
  if (areAlike) return settingsOf(first, [...path, '*'], valueAt(value, name));
  return fields.flatMap(([key, field]) => settingsOf(field, [...path, key], valueAt(value, key)));
}

function valueAt(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

function settingRow({ path, value, description }: Setting): string[] {
  const setting = path.join('.');
  const variable = environmentName(path);
  return [`\`${setting}\` \`${variable}\``, defaultText(setting, value), description];
}

function defaultText(setting: string, value: unknown): string {
  if (value === '') return 'empty';
  if (Array.isArray(value)) {
    return value.length === 0 ? 'none' : value.map((one) => defaultText(setting, one)).join(', ');
  }
  const units = setting.includes('Bytes') ? sizes : /Ms(Max)?$/.test(setting) ? times : [];
  return units.length === 0 ? `\`${String(value)}\`` : inUnit(Number(value), units);
}

type Unit = readonly [name: string, amount: number];
const sizes: readonly Unit[] = [
  ['GiB', 1024 ** 3],
  ['MiB', 1024 ** 2],
  ['KiB', 1024],
];
const times: readonly Unit[] = [
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
];

/** In the largest unit that divides it. */
function inUnit(amount: number, units: readonly Unit[]): string {
  const [name, one] = units.find(([, size]) => amount % size === 0) ?? ['bytes', 1];
  return `${amount / one} ${name}`;
}

/** A registration: kind, name, help, and labels. Names and helps are written out there, so that both can be searched for. */
const registration =
  /metrics\.(counter|gauge|histogram|total)\(\s*'(\w+)',\s*'([^']+)',\s*(?:\w+,\s*)?(?:\[([^\]]*)\])?/g;

function metricTable(): string {
  const rows = new Map<string, readonly string[]>();
  for (const path of readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts') || path === 'platform/metrics.ts') continue;
    const text = readFileSync(join(root, 'src', path), 'utf8');
    const found = [...text.matchAll(registration)];
    const calls = text.match(/metrics\.(?:counter|gauge|histogram|total)\(/g) ?? [];
    if (found.length < calls.length) {
      throw new Error(`Cannot read a metric of src/${path}, expected its name and help as text`);
    }
    for (const [, kind = '', name = '', help = '', labels = ''] of found) {
      const type = kind === 'total' ? 'counter' : kind;
      const named = labels
        .split(',')
        .map((label) => label.trim())
        .filter((label) => label !== '');
      const shown = named.map((label) => label.replaceAll("'", '`')).join(', ');
      rows.set(name, [`\`${name}\``, type, shown, `${help}.`]);
    }
  }
  const sorted = [...rows].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  const others = ['`nodejs_*`, `process_*`', '', '', 'Node.js and its process, by prom-client.'];
  return table(['metric', 'type', 'labels', 'meaning'], [...sorted, others]);
}

/** Bytes 0 to 31: no endpoint has it. */
const exampleSecret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

function exampleRequest(): string {
  const event = sampleEnvelope('qr.scanned');
  const body = JSON.stringify(event);
  const headers = {
    'Content-Type': 'application/json',
    'X-Service-Event': 'qr.scanned',
    'X-Service-Delivery': 'dlv_01k3zq8m4hd2v7c5x9ab',
    'X-Service-Attempt': '1',
    ...signHeaders({
      body: Buffer.from(body),
      id: event.id,
      timestampSeconds: Date.UTC(2026, 2, 1, 12) / 1_000,
      secrets: [exampleSecret],
    }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const request = ['POST /hooks/qr HTTP/1.1', 'Host: example.com', ...lines, '', body];
  return `\`\`\`http\n${request.join('\n')}\n\`\`\`\n\nThe secret of this example is \`${exampleSecret}\`.`;
}

function retryDelays(): string {
  const delays = defaults.webhooks.retryDelaysMs;
  const hours = Math.round(delays.reduce((sum, delay) => sum + delay) / 3_600_000);
  const texts = delays.map((delay) => inUnit(delay, times));
  const list = `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`;
  return `The delays are ${list}: ${delays.length + 1} attempts within ${hours} hours.`;
}

if (import.meta.filename === process.argv[1]) {
  const stale = readGuideFiles().filter(({ text, current }) => text !== current);
  for (const { name, current } of stale) writeFileSync(join(guides, name), current);
  const names = stale.map(({ name }) => name).join(', ');
  process.stdout.write(stale.length === 0 ? 'Nothing changed\n' : `Changed ${names}\n`);
}
