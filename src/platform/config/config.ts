/**
 * Reads the settings (config-schema.ts). Three layers, later ones win: `config/default.json`, the file named by `--config` or
 * `QZ_CONFIG`, environment variables (`QZ_` + the path in upper snake case; lists are comma-separated).
 * An unknown key or a bad value is a fault, named with its source: the process exits with 2.
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { z } from 'zod';
import { configSchema } from './config-schema.ts';
import { type Environment, processEnvironment } from './environment.ts';
import { isLocalUrl } from '../../model/address.ts';
import { shipped } from '../shipped.ts';

type Json = { [key: string]: unknown };
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export type Config = z.infer<typeof configSchema>;

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
  const result = configSchema.safeParse(merged);
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
  throw new ConfigError(`The configuration has faults\n${lines.join('\n')}`);
}

/** Faults of settings that are each valid but do not go together. */
function checkTogether(config: Config): Config {
  const { mail } = config;
  const fault =
    (mail.host !== '' && mail.from === ''
      ? 'mail.host is set and mail.from is not, expected a sender'
      : undefined) ??
    tlsFault('api', config) ??
    tlsFault('redirect', config) ??
    rootFault(config) ??
    billingFault(config) ??
    clusterFault(config);
  if (fault !== undefined) throw new ConfigError(`The configuration has a fault: ${fault}`);
  return config;
}

function tlsFault(at: 'api' | 'redirect', config: Config): string | undefined {
  const { port, tlsCertFile, tlsKeyFile, httpPort } = config[at];
  if ((tlsCertFile === '') !== (tlsKeyFile === '')) {
    return `${at}.tlsCertFile and ${at}.tlsKeyFile go together, only one is set`;
  }
  if (tlsCertFile === '' && httpPort !== 0) {
    return `${at}.httpPort is set without TLS, expected ${at}.tlsCertFile and ${at}.tlsKeyFile`;
  }
  // Threads share the port of short links: the kernel would give a connection to either listener.
  if (httpPort === port)
    return `${at}.httpPort and ${at}.port are both ${port}, expected two ports`;
  // Its scheme decides about cookies. Codes printed with http: may lead to a port that speaks both.
  if (at === 'api' && tlsCertFile !== '' && !config.api.publicUrl.startsWith('https:')) {
    return 'api.publicUrl begins with http: and api.tlsCertFile is set, expected https:';
  }
  return undefined;
}

/** A short domain must not redirect to itself. */
function rootFault({ redirect: { rootUrl }, shortUrlBase }: Config): string | undefined {
  if (rootUrl === '') return undefined;
  const { origin, pathname } = new URL(rootUrl);
  const leadsToItself = origin === new URL(shortUrlBase).origin && pathname === '/';
  return leadsToItself
    ? `redirect.rootUrl is ${rootUrl}, which is where it leads from, expected another page`
    : undefined;
}

/** Prices fit the decimals of their currency. Stripe has its secrets, and an amount here for each of its price ids. */
function billingFault({ billing }: Config): string | undefined {
  const { provider, currency, prices, stripe } = billing;
  const { maximumFractionDigits: digits } = new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
  }).resolvedOptions();
  for (const [plan, { month, year }] of Object.entries(prices)) {
    for (const amount of [month, year]) {
      if (Number(amount.toFixed(digits)) === amount) continue;
      return `billing.prices.${plan}: ${amount} ${currency}, expected at most ${digits} decimals`;
    }
  }
  if (provider !== 'stripe') return undefined;
  if (stripe.secretKey === '' || stripe.webhookSecret === '') {
    return 'billing.provider is stripe, expected billing.stripe.secretKey and webhookSecret';
  }
  const amounts = new Map(Object.entries(prices));
  for (const [plan, { month, year }] of Object.entries(stripe.prices)) {
    const here = amounts.get(plan);
    if ((month === '' || here?.month) && (year === '' || here?.year)) continue;
    return `billing.stripe.prices.${plan} is set, expected the same amount in billing.prices.${plan}`;
  }
  return undefined;
}

/** Every core has the secret, and no edge: others may have access to an edge. */
function clusterFault({ cluster }: Config): string | undefined {
  const { nats, role, secret, advertiseUrl, plainHttp } = cluster;
  if (nats.length === 0) {
    if (role === 'all' && secret === '') return undefined;
    return 'cluster.role or cluster.secret is set without cluster.nats, expected the brokers';
  }
  if (role === 'edge') {
    if (secret === '') return undefined;
    return 'cluster.secret is set on an edge, expected it on cores alone';
  }
  if (secret === '') {
    return `cluster.secret is not set, expected it on a node with role ${role}`;
  }
  if (plainHttp || advertiseUrl.startsWith('https:') || isLocalUrl(advertiseUrl)) return undefined;
  return `cluster.advertiseUrl is ${advertiseUrl}, so sign-ins and data cross the network in clear text; expected https:, or cluster.plainHttp (QZ_CLUSTER_PLAIN_HTTP) true on a network of your own`;
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

/** Fills unset addresses from ports and the host name, before the settings are checked. */
function fillAddresses(config: Json): void {
  const { api, redirect, cluster } = config;
  if (!isObject(api) || !isObject(redirect) || !isObject(cluster)) return;
  if (api['publicUrl'] === '') api['publicUrl'] = addressAt('localhost', api);
  if (config['shortUrlBase'] === '') config['shortUrlBase'] = addressAt('localhost', redirect);
  const host = hostname() || 'localhost';
  const [label = ''] = host.split('.');
  if (cluster['nodeName'] === '') cluster['nodeName'] = label.replaceAll(/[^A-Za-z0-9_-]/g, '-');
  if (cluster['advertiseUrl'] === '') cluster['advertiseUrl'] = addressAt(host, api);
}

/** Without the default port of the scheme. The schema reports an invalid port. */
function addressAt(host: string, { tlsCertFile, port }: Json): string {
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 65_535;
  return new URL(`${tlsCertFile ? 'https' : 'http'}://${host}:${isPort ? Number(port) : ''}`)
    .origin;
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
    throw new ConfigError(`Unknown environment variable ${unknown.join(', ')}`);
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
