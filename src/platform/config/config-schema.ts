/**
 * Every setting with its bounds; the unit ends its name. `npm run docs` makes the tables of the settings guide from the
 * descriptions: that of a group is its title, that of a setting says what it does.
 */
import { z } from 'zod';
import { brandNameLengthMax, supportUrlLengthMax } from '../../model/routing/pages.ts';

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
const addressOrNetwork = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], {
  error: 'expected an address or a CIDR block, such as 10.0.0.0/8',
});
const count = (min: number, max: number) => z.number().int().min(min).max(max);
const path = z.string().min(1).max(4_096);
const optionalFile = z.string().max(4_096);
const host = z.string().min(1).max(255).describe('Address to listen on.');
const threads = (what: string) =>
  count(0, 64).describe(`Threads that ${what}; 0: chosen by cores and memory.`);
const tls = (httpPort: string) => ({
  tlsCertFile: optionalFile.describe('Certificate chain (PEM) for TLS on this port.'),
  tlsKeyFile: optionalFile.describe('Private key (PEM) of the certificate.'),
  httpPort: z.union([z.literal(0), port]).describe(httpPort),
});

const perPlan = <S extends z.ZodType>(value: S) => {
  const perInterval = z.strictObject({ month: value, year: value });
  return z.strictObject({
    starter: perInterval,
    pro: perInterval,
    business: perInterval,
    enterprise: perInterval,
  });
};

const api = z.strictObject({
  host,
  port: port.describe('Port of API, dashboard and images.'),
  publicUrl: url.describe(
    'Public address of dashboard and API. Empty: `localhost` with `api.port`, `https:` with `api.tlsCertFile`.',
  ),
  ...tls('Port that answers 308 to `api.publicUrl`, only with TLS; 0: none.'),
});

const redirect = z.strictObject({
  host,
  port: port.describe('Port of short links.'),
  threads: threads('answer, all on this port'),
  ...tls('Second port of short links, without TLS; 0: none.'),
  rootUrl: z
    .union([z.literal(''), webPage])
    .describe(
      'Target of the bare short domain, `/`. Empty: the page of an unknown code. It must not be `/` of the same domain.',
    ),
});

const pages = z.strictObject({
  brandName: z
    .string()
    .max(brandNameLengthMax)
    .describe(
      'Your name on the pages of unknown codes, and of workspaces without a brand. At most 60 characters.',
    ),
  supportUrl: z
    .union([z.literal(''), z.url({ protocol: /^(?:https?|mailto|tel)$/ }).max(supportUrlLengthMax)])
    .describe('Link to your help: `https:`, `http:`, `mailto:` or `tel:`.'),
  colour: z
    .union([z.literal(''), z.string().regex(/^#[\da-f]{6}$/i, 'must be a color as #0f6b5c')])
    .describe(
      'Color of the link and the drawing, such as `#0f6b5c`. Adjusted where contrast is too low.',
    ),
});

const scans = z.strictObject({
  shards: threads('count'),
  segmentMsMax: count(10, 3_600_000).describe(
    'Age at which a journal file is closed. Addresses and user agents stay on disk this long, and some seconds more until the scans are counted.',
  ),
  backlogBytesMax: count(65_536, 1_073_741_824).describe(
    'Memory of each redirect thread for scans while its journal cannot be written.',
  ),
  rawRetentionDays: count(0, 3_650).describe(
    'How long single scans are kept, 50 to 230 bytes each. Totals stay forever. 0: one hour, so that their events can be sent.',
  ),
});

const geo = z.strictObject({
  countryFile: optionalFile.describe(
    'mmdb file of countries, for addresses that the city file does not know. `bundled`: the data of Quietzone; empty: none.',
  ),
  cityFileV4: optionalFile.describe(
    'mmdb file of cities for IPv4. Its records name the country too.',
  ),
  cityFileV6: optionalFile.describe(
    'mmdb file of cities for IPv6. You can name the same file for both.',
  ),
});

const billing = z.strictObject({
  provider: z
    .enum(['manual', 'stripe', 'none'])
    .describe(
      '`manual`: a person confirms each checkout; `stripe`; `none`: you set plans yourself and sell nothing.',
    ),
  confirmedBy: z
    .enum(['owner', 'operator'])
    .describe(
      'With `manual`: who confirms a checkout, an `owner` or only the `operator` (`quietzone billing confirm`).',
    ),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case')
    .describe('ISO 4217 code in upper case.'),
  prices: perPlan(
    z
      .number()
      .min(0)
      .max(1_000_000)
      .describe('Price of a plan for a month or a year, in major units; 0: not sold.'),
  ),
  stripe: z.strictObject({
    secretKey: z
      .string()
      .max(512)
      .describe('`sk_…` or `rk_…`. Use the variable, so that no file contains it.'),
    webhookSecret: z
      .string()
      .max(512)
      .describe('`whsec_…` of the endpoint `{api.publicUrl}/v1/billing/stripe/webhook`.'),
    apiBase: url.describe('Address of the Stripe API. Change it only for tests.'),
    prices: perPlan(
      z.string().max(255).describe('Price ID of Stripe (`price_…`). Empty: not sold.'),
    ),
  }),
});

const webhooks = z.strictObject({
  threads: threads('sign and send'),
  retryDelaysMs: z
    .array(count(1, 2_592_000_000))
    .min(1)
    .max(30)
    .describe(
      'Delays from the end of a failed attempt to the next one. After the last attempt the delivery becomes a dead letter.',
    ),
  attemptTimeoutMs: count(100, 60_000).describe(
    'Deadline of an attempt, from the DNS query to the last byte of the answer.',
  ),
  deliveriesKept: count(1, 1_000_000).describe(
    'Successful deliveries that the list of an endpoint keeps.',
  ),
  allowNetworks: z
    .array(z.union([z.cidrv4(), z.cidrv6()]))
    .max(256)
    .describe('Private networks (CIDR) that webhooks may reach.'),
});

const mail = z.strictObject({
  host: z
    .string()
    .max(255)
    .describe('SMTP server. Empty: no mail is sent, and the dashboard shows invite links.'),
  port: port.describe('Port of the SMTP server.'),
  secure: z.boolean().describe('`true`: TLS from the start (port 465); `false`: STARTTLS.'),
  requireTls: z
    .boolean()
    .describe(
      '`true`: refuses a server without TLS; `false`: such a server gets mails and the password in clear text.',
    ),
  user: z.string().max(256).describe('User name. Empty: no sign-in.'),
  password: z.string().max(1_024).describe('Password.'),
  from: z
    .string()
    .max(320)
    .describe('Sender: `Name <address>` or an address. Required with `mail.host`.'),
});

const cluster = z.strictObject({
  nats: z
    .array(z.string().min(1).max(512))
    .max(32)
    .describe(
      'Addresses of the brokers, such as `nats://core:password@n1:4222` or `tls://…`. None: no cluster.',
    ),
  role: z
    .enum(['all', 'core', 'edge'])
    .describe(
      '`edge` redirects, `core` stores the data and can lead, `all` does both. `serve --role` sets it too.',
    ),
  nodeName: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must be 1 to 63 letters, digits, "-" or "_"')
    .describe('Unique name of this machine. Empty: its host name up to the first dot.'),
  advertiseUrl: url.describe(
    'Address at which other machines reach the API of this one. Empty: the host name with `api.port`.',
  ),
  plainHttp: z
    .boolean()
    .describe(
      '`true`: `cluster.advertiseUrl` of a core may begin with `http:`. Use it only on a private network.',
    ),
  secret: z
    .union([z.literal(''), z.string().min(32, 'must have 32 characters or more').max(256)])
    .describe('At least 32 characters, the same on every core. Leave it empty on edges.'),
  credsFile: optionalFile.describe(
    'Credentials file for the brokers, in place of a password in their address.',
  ),
  replicas: z
    .union([z.literal(1), z.literal(3), z.literal(5)])
    .describe('Copies of each stream on the brokers: 3 or 5; 1 for a trial with one broker.'),
});

const bootstrap = z.strictObject({
  email: z.email().max(254).describe('E-mail address of the first owner.'),
  password: z
    .string()
    .max(256)
    .describe('Password of the first owner. Empty: the first start generates and prints one.'),
  plan: z
    .enum(['free', 'starter', 'pro', 'business', 'enterprise'])
    .describe('Plan of the first workspace: `free`, `starter`, `pro`, `business` or `enterprise`.'),
});

export const configSchema = z.strictObject({
  dataDir: path.describe('Folder of all durable data.'),
  shortUrlBase: url.describe(
    'Public address of short links, which codes print. Empty: `localhost` with `redirect.port`, `https:` with `redirect.tlsCertFile`.',
  ),
  cdnBase: z
    .union([z.literal(''), url])
    .describe('Public address of images. Empty: `api.publicUrl` and `/i`.'),
  durability: z
    .enum(['process', 'power'])
    .describe(
      'When a scan is answered. `process`: after the write to the journal, which survives a crash of the process; `power`: after the sync to disk, which survives a power cut.',
    ),
  trustedProxies: z
    .array(addressOrNetwork)
    .max(256)
    .describe(
      'Addresses or CIDR blocks of your proxies. The service takes the address of a client from their `X-Forwarded-For` or PROXY header.',
    ),
  api: api.describe('API and dashboard'),
  redirect: redirect.describe('Short links'),
  pages: pages.describe('Error pages'),
  scans: scans.describe('Scans'),
  geo: geo.describe('Countries and cities'),
  images: z
    .strictObject({
      threads: threads('draw'),
      cacheBytesMax: count(0, 4_294_967_296).describe('Memory for drawn images.'),
    })
    .describe('Images'),
  metrics: z
    .strictObject({
      host: host.describe('Address that `/metrics` listens on.'),
      port: z.union([z.literal(0), port]).describe('Port of `/metrics`; 0: off.'),
    })
    .describe('Metrics'),
  billing: billing.describe('Billing'),
  webhooks: webhooks.describe('Webhooks'),
  mail: mail.describe('Mail'),
  log: z
    .strictObject({
      level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
        .describe('`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.'),
    })
    .describe('Log'),
  cluster: cluster.describe('Cluster'),
  bootstrap: bootstrap.describe('First start'),
});
