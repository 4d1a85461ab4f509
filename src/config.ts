/**
 * Every setting and every limit, in one schema, units in the names.
 *
 * Three layers, later ones win: `config/default.json`, the file named by `--config` or `QZ_CONFIG`,
 * environment variables (`QZ_` + the path in upper snake case; lists are comma-separated).
 * An unknown key or a bad value is a fault, named with its source: the process exits with 2.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { fillAddresses, isObject, type Json } from './config-addresses.ts';
import { billingFault, clusterFault, rootFault, tlsFault } from './config-faults.ts';
import { type Environment, processEnvironment } from './environment.ts';
import { brandNameLengthMax, supportUrlLengthMax } from './model/routing/pages.ts';
import { shipped } from './shipped.ts';

const port = z.number().int().min(1).max(65_535);
const url = z
  .url({ protocol: /^https?$/ })
  .refine((text) => !text.endsWith('/'), 'must not end with "/"')
  // Paths are appended: a query or a fragment would swallow them, a password would be printed.
  .refine((text) => !/[?#@]/.test(text), 'must have no query, fragment or credentials');
/** It goes into a header as it is. */
const webPage = z
  .url({ protocol: /^https?$/ })
  .max(2_048)
  .regex(/^[\x21-\x7e]+$/, 'must be in ASCII, without spaces');
/** One message for a union of formats: four "invalid" branches would not help an operator. */
const addressOrNetwork = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an address or a CIDR block, such as 10.0.0.0/8',
});
const count = (min: number, max: number) => z.number().int().min(min).max(max);
const path = z.string().min(1).max(4_096);
/** Where a listener speaks TLS: PEM files, both or none; then `httpPort` may serve plain HTTP beside it, 0 = none. */
const tls = {
  tlsCertFile: z.string().max(4_096),
  tlsKeyFile: z.string().max(4_096),
  httpPort: z.union([z.literal(0), port]),
};

const perPlan = <S extends z.ZodType>(value: S) => {
  const perInterval = z.strictObject({ month: value, year: value });
  return z.strictObject({
    starter: perInterval,
    pro: perInterval,
    business: perInterval,
    enterprise: perInterval,
  });
};

const schema = z.strictObject({
  /** The folder of everything durable: LMDB environments, journals, secrets. */
  dataDir: path,
  /**
   * Public address of short links, as it is printed, without a trailing slash. Empty = `localhost`
   * with `redirect.port`.
   */
  shortUrlBase: url,
  /** Public address of images; empty = `api.publicUrl` + `/i`. */
  cdnBase: z.union([z.literal(''), url]),
  /** A scan is answered after the write to the journal (`process`), or after the disk sync (`power`). */
  durability: z.enum(['process', 'power']),
  /** Peers (addresses or CIDR blocks) whose X-Forwarded-For or PROXY header names the client. */
  trustedProxies: z.array(addressOrNetwork).max(256),
  api: z.strictObject({
    host: z.string().min(1).max(255),
    port,
    /** Public address of the management API and dashboard, without `/v1`; empty = `localhost` with `api.port`. */
    publicUrl: url,
    /** Its `httpPort` answers 308 to `publicUrl`. */
    ...tls,
  }),
  redirect: z.strictObject({
    host: z.string().min(1).max(255),
    port,
    /** Redirect threads; 0 = by cores. Each owns a journal. */
    threads: count(0, 64),
    /** Its `httpPort` redirects as `port` does. */
    ...tls,
    /** Where the short domain itself leads, `/`; empty = to the page of an unknown code. */
    rootUrl: z.union([z.literal(''), webPage]),
  }),
  /**
   * On the pages that a scan meets instead of a redirect: of codes that are unknown, and of workspaces without a brand of
   * their own. Each may be empty.
   */
  pages: z.strictObject({
    brandName: z.string().max(brandNameLengthMax),
    /** Where people ask: http, https, mailto or tel. */
    supportUrl: z.union([
      z.literal(''),
      z.url({ protocol: /^(?:https?|mailto|tel)$/ }).max(supportUrlLengthMax),
    ]),
    /** Made lighter or darker where it could not be read. */
    colour: z.union([
      z.literal(''),
      z.string().regex(/^#[\da-f]{6}$/i, 'must be a colour as #0f6b5c'),
    ]),
  }),
  codes: z.strictObject({
    /**
     * Memory for the texts of workspaces that are searched, about 22 MB for 100,000 codes. The least recently
     * searched are removed first; a workspace that does not fit is searched slowly. 0 = none.
     */
    searchBytesMax: count(0, 4_294_967_296),
  }),
  scans: z.strictObject({
    /** Shard threads; 0 = by cores. Each owns its share of the 64 partitions. */
    shards: count(0, 64),
    /** Age of its first record at which a journal segment is closed; it is deleted once counted. */
    segmentMsMax: count(10, 3_600_000),
    /** Scans a redirect thread keeps in memory while its journal cannot be written. */
    backlogBytesMax: count(65_536, 1_073_741_824),
    /** Days raw scans are kept; 0 = only as long as their events need. */
    rawRetentionDays: count(0, 3_650),
  }),
  geo: z.strictObject({
    /** mmdb files; `bundled` = the databases shipped with Quietzone, empty = none (`ZZ`). */
    countryFile: z.string().max(4_096),
    cityFileV4: z.string().max(4_096),
    cityFileV6: z.string().max(4_096),
  }),
  images: z.strictObject({
    /** Pool threads that draw; 0 = by cores. */
    threads: count(0, 64),
    /** Drawn images kept in memory. */
    cacheBytesMax: count(0, 4_294_967_296),
  }),
  metrics: z.strictObject({
    /** Listen address of /metrics; port 0 = off. */
    host: z.string().min(1).max(255),
    port: z.union([z.literal(0), port]),
  }),
  billing: z.strictObject({
    /** How payments work: people confirm them, Stripe takes them, or nothing is sold. */
    provider: z.enum(['manual', 'stripe', 'none']),
    /** With `manual`: who confirms a checkout. On an installation for others that is the operator. */
    confirmedBy: z.enum(['owner', 'operator']),
    /** ISO 4217, upper case. */
    currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case'),
    /** Major units of the currency, per plan and interval; 0 = not sold here. With `manual` and no price nothing is sold. */
    prices: perPlan(z.number().min(0).max(1_000_000)),
    stripe: z.strictObject({
      /** `sk_…` or `rk_…`; better in QZ_BILLING_STRIPE_SECRET_KEY than in a file. Never logged. */
      secretKey: z.string().max(512),
      /** `whsec_…` of the endpoint `{api.publicUrl}/v1/billing/stripe/webhook`. */
      webhookSecret: z.string().max(512),
      /** Address of Stripe's API; tests set another. */
      apiBase: url,
      /** Stripe's price ids (`price_…`); empty = not sold. */
      prices: perPlan(z.string().max(255)),
    }),
  }),
  webhooks: z.strictObject({
    /** Pool threads that sign and send; 0 = by cores. */
    threads: count(0, 64),
    /** From the end of each failed attempt to the next; one more attempt than delays, then dead. */
    retryDelaysMs: z.array(count(1, 2_592_000_000)).min(1).max(30),
    /** Deadline of an attempt, from the DNS look-up to the end of the answer. */
    attemptTimeoutMs: count(100, 60_000),
    /** Delivered webhooks kept in an endpoint's list, the newest. */
    deliveriesKept: count(1, 1_000_000),
    /** Private networks (CIDR) that webhooks may reach although the guard denies them. */
    allowNetworks: z.array(z.union([z.cidrv4(), z.cidrv6()])).max(256),
  }),
  mail: z.strictObject({
    /** SMTP server; empty = no mail is sent, links are shown instead. */
    host: z.string().max(255),
    port,
    /** TLS from the start (465); else STARTTLS (587). */
    secure: z.boolean(),
    /** False: mails and the password go out in clear text where the server offers no TLS. */
    requireTls: z.boolean(),
    /** Empty = no sign-in. */
    user: z.string().max(256),
    password: z.string().max(1_024),
    /** Sender, `Name <address>` or an address alone. */
    from: z.string().max(320),
  }),
  log: z.strictObject({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  }),
  /** Several machines as one service. */
  cluster: z.strictObject({
    /** Brokers, such as `nats://core:password@n1:4222`; empty = this machine alone. Better in QZ_CLUSTER_NATS than in a file. */
    nats: z.array(z.string().min(1).max(512)).max(32),
    /** `edge` redirects, `core` keeps the data and may lead, `all` does both. */
    role: z.enum(['all', 'core', 'edge']),
    /** Of this machine, no other one's; empty = its host name up to the first dot. */
    nodeName: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must be 1 to 63 letters, digits, "-" or "_"'),
    /** Where the other machines reach this one's API; empty = its host name with `api.port`. */
    advertiseUrl: url,
    /** `advertiseUrl` may begin with `http:` beyond this machine. */
    plainHttp: z.boolean(),
    /** The same on every core, none on an edge. Never logged. */
    secret: z.union([
      z.literal(''),
      z.string().min(32, 'must have 32 characters or more').max(256),
    ]),
    /** Credentials file for the brokers; empty = none. */
    credsFile: z.string().max(4_096),
    /** Copies of each stream that the brokers keep. */
    replicas: z.union([z.literal(1), z.literal(3), z.literal(5)]),
  }),
  bootstrap: z.strictObject({
    /** E-mail of the first owner. */
    email: z.email().max(254),
    /** Password of the first owner; empty = one is generated and printed once. */
    password: z.string().max(256),
    plan: z.enum(['free', 'starter', 'pro', 'business', 'enterprise']),
  }),
});

export type Config = z.infer<typeof schema>;

/** Faults in the configuration, each with its source, ready to print. The process exits with 2. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads and validates the configuration.
 * @param file path of the operator's file; wins over `QZ_CONFIG`
 * @throws ConfigError naming every fault with its source
 */
export function loadConfig(
  file: string | undefined,
  environment: Environment = processEnvironment,
): Config {
  const defaults = asJson(shipped.defaults(), 'config/default.json');
  const named = file ?? environment.QZ_CONFIG;
  const own = named === undefined || named === '' ? {} : readJson(named);
  const merged = merge(defaults, own);
  const sources = applyEnvironment(merged, environment);
  fillAddresses(merged);
  const result = schema.safeParse(merged);
  if (result.success) return checkTogether(result.data);
  const lines = result.error.issues.map((issue) => {
    const at = issue.path.join('.');
    const keys = issue.code === 'unrecognized_keys' ? issue.keys : [];
    // A list has one source: its items are told apart by their number.
    const list = issue.path.filter((part) => typeof part === 'string').join('.');
    const from = sources.get(list) ?? (named === undefined ? 'config' : named);
    const message = keys.length === 0 ? issue.message : `unknown key ${keys.join(', ')}`;
    return `  ${from}: ${at === '' ? '' : `${at}: `}${message}`;
  });
  throw new ConfigError(`Cannot start: the configuration has faults\n${lines.join('\n')}`);
}

function checkTogether(config: Config): Config {
  const { api, redirect, billing, mail, shortUrlBase, cluster } = config;
  const fault =
    (mail.host !== '' && mail.from === ''
      ? 'mail.host is set and mail.from is not, expected a sender'
      : undefined) ??
    tlsFault('api', api, api.publicUrl) ??
    tlsFault('redirect', redirect, shortUrlBase) ??
    rootFault(redirect.rootUrl, shortUrlBase) ??
    billingFault(billing) ??
    clusterFault(cluster);
  if (fault !== undefined) throw new ConfigError(`Cannot start: ${fault}`);
  return config;
}

function readJson(file: string): Json {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new ConfigError(
      `Cannot read configuration ${file}: ${error instanceof Error && 'code' in error ? String(error.code) : 'unreadable'}, expected a JSON file`,
    );
  }
  try {
    return asJson(JSON.parse(text), file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError(
      `Cannot parse configuration ${file}: ${error instanceof Error ? error.message : 'not JSON'}`,
    );
  }
}

function asJson(value: unknown, name: string): Json {
  if (isObject(value)) return value;
  throw new ConfigError(`Cannot parse configuration ${name}: expected a JSON object`);
}

function merge(base: Json, over: Json): Json {
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const below = result[key];
    result[key] = isObject(below) && isObject(value) ? merge(below, value) : value;
  }
  return result;
}

/** `webhooks.allowNetworks` -> `QZ_WEBHOOKS_ALLOW_NETWORKS`. */
export function environmentName(path: readonly string[]): string {
  return `QZ_${path.map((part) => part.replace(/[A-Z]/g, '_$&').toUpperCase()).join('_')}`;
}

/** Overlays `QZ_*` variables on `target` in place; returns which path came from which variable. */
function applyEnvironment(target: Json, environment: Environment): Map<string, string> {
  const sources = new Map<string, string>();
  const known = new Set(['QZ_CONFIG', 'QZ_RUNTIME_DIR']);
  const walk = (node: Json, trail: readonly string[]): void => {
    for (const [key, value] of Object.entries(node)) {
      const path = [...trail, key];
      if (isObject(value)) {
        walk(value, path);
        continue;
      }
      const name = environmentName(path);
      known.add(name);
      const text = environment[name];
      if (text === undefined) continue;
      sources.set(path.join('.'), name);
      node[key] = parseVariable(text, value);
    }
  };
  walk(target, []);
  const unknown = Object.keys(environment).filter((n) => n.startsWith('QZ_') && !known.has(n));
  if (unknown.length > 0) {
    throw new ConfigError(`Cannot start: unknown environment variable ${unknown.join(', ')}`);
  }
  return sources;
}

/** Reads a variable as the kind of value its default has; a text that does not parse fails in the schema. */
function parseVariable(text: string, likeValue: unknown): unknown {
  if (Array.isArray(likeValue)) {
    const likePart: unknown = likeValue[0];
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => (typeof likePart === 'number' ? parseVariable(part, likePart) : part));
  }
  if (typeof likeValue === 'boolean') return text === 'true' || (text === 'false' ? false : text);
  if (typeof likeValue === 'number') return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  return text;
}
