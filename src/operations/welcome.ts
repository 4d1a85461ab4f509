/** The text that the terminal shows once the service runs: its addresses and, the first time, the sign-in. */
import type { networkInterfaces } from 'node:os';
import type { Config } from '../platform/config/config.ts';
import { CidrSet, isLocalUrl, isLoopback, parseAddress } from '../model/address.ts';
import type { FirstSecrets } from '../app/folder/first-start.ts';
import type { Shipped } from '../platform/shipped.ts';

export type Interfaces = ReturnType<typeof networkInterfaces>;

/** What a person types to start the service. @param typed how this process was started */
export const startCommand = ({ target }: Pick<Shipped, 'target'>, typed: string): string =>
  target === '' ? 'npm start' : typed;

export function welcome(
  config: Config,
  first: FirstSecrets | undefined,
  interfaces: Interfaces,
  start: string,
): string {
  const { nats, nodeName, role } = config.cluster;
  if (role === 'edge') return edgeWelcome(config);
  const api = config.api.publicUrl;
  const lines = [
    '',
    '  Quietzone is ready.',
    '',
    `  Dashboard      ${api}/`,
    `  API            ${api}/v1   (reference: ${api}/docs)`,
    `  Short links    ${config.shortUrlBase}/…`,
  ];
  if (nats.length > 0) lines.push(`  Cluster        node ${nodeName}, role ${role}`);
  if (isLocalUrl(config.shortUrlBase)) lines.push(...otherAddress(config, interfaces, start));
  if (first !== undefined) lines.push(...secrets(api, first));
  return [...lines, ''].join('\n');
}

/** It has neither dashboard nor API. */
function edgeWelcome({ cluster, redirect, api }: Config): string {
  return [
    '',
    '  Quietzone is ready.',
    '',
    `  This machine redirects for a cluster, as its edge ${cluster.nodeName}. Dashboard and API are on the cores.`,
    '',
    `  Redirects      on ${redirect.host}:${redirect.port}`,
    `  Health         on ${api.host}:${api.port}/health/ready`,
    '',
  ].join('\n');
}

/** What to do while codes lead to this machine's own name, which on a phone is the phone. */
function otherAddress(
  { shortUrlBase, redirect }: Config,
  interfaces: Interfaces,
  start: string,
): string[] {
  const [host = '192.168.x.y', ...others] = networkHosts(interfaces);
  const { protocol, port, pathname } = new URL(shortUrlBase);
  const path = pathname === '/' ? '' : pathname;
  const base = `${protocol}//${host}${port === '' ? '' : `:${port}`}${path}`;
  const isClosed = isLoopback(redirect.host) || redirect.host === 'localhost';
  const listen = isClosed ? 'QZ_REDIRECT_HOST=0.0.0.0 ' : '';
  return [
    '',
    `  No phone can open ${shortUrlBase}: codes made now can be tried on this machine only, and prints keep`,
    '  the address that they were printed with. Before you print, start with an address of this machine in',
    `  your network${others.length === 0 ? '' : ` (it also has ${others.join(', ')})`}, or with your own domain:`,
    '',
    `  ${listen}QZ_SHORT_URL_BASE=${base} ${start}`,
    '',
    `  or write "shortUrlBase": "${base}" to the file that QZ_CONFIG names.`,
  ];
}

/** The first owner's sign-in, where a command creates the first workspace before the service has run. */
export function firstOwner({ email, password, apiKey }: FirstSecrets): string {
  return `Created the first workspace. Its owner signs in as ${email}, password ${password}, API key ${apiKey} (shown once)`;
}

function secrets(api: string, { email, password, apiKey }: FirstSecrets): string[] {
  return [
    '',
    '  First start: this is shown once, keep it.',
    '',
    `  Sign in        ${email}`,
    `  Password       ${password}`,
    `  API key        ${apiKey}`,
    '',
    '  Make a first code:',
    '',
    `  curl -X POST ${api}/v1/qr-codes \\`,
    `    -H 'Authorization: Bearer ${apiKey}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"target": "https://example.com/menu"}'`,
  ];
}

/**
 * Most likely first: home and office networks, other private ones, public ones; IPv4 before IPv6, which is
 * longer to type and in a code. Link-local addresses need a zone, which no web address has.
 */
const preferred = [
  '192.168.0.0/16',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '0.0.0.0/0',
  'fc00::/7',
  '::/0',
].map((network) => new CidrSet([network]));
const linkLocal = new CidrSet(['169.254.0.0/16', 'fe80::/10']);
/** Networks between programs of this machine. */
const virtual = /^(docker|br-|veth|virbr|vmnet|cni|flannel|podman)/;

/** As the host of a web address, `192.168.1.20` or `[2001:db8::1]`, the best one first. */
export function networkHosts(interfaces: Interfaces): string[] {
  return Object.entries(interfaces)
    .filter(([name]) => !virtual.test(name))
    .flatMap(([, addresses = []]) => addresses)
    .flatMap(({ internal, address, family }) => {
      const parsed = parseAddress(address);
      if (internal || parsed === undefined || linkLocal.has(parsed)) return [];
      const host = family === 'IPv6' ? `[${address}]` : address;
      return [{ host, rank: preferred.findIndex((network) => network.has(parsed)) }];
    })
    .sort((a, b) => a.rank - b.rank)
    .map(({ host }) => host);
}
