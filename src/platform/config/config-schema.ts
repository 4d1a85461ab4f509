/** Every setting and every limit, units in the names. config/README.md explains them. */
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
/** PEM files, both or none. With them, `httpPort` may serve plain HTTP too, 0 = none. */
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

export const configSchema = z.strictObject({
  dataDir: path,
  /** As it is printed; empty = `localhost` with `redirect.port`. */
  shortUrlBase: url,
  /** Of images; empty = `api.publicUrl` + `/i`. */
  cdnBase: z.union([z.literal(''), url]),
  /** A scan is answered after the write to the journal (`process`), or after its sync to the disk (`power`). */
  durability: z.enum(['process', 'power']),
  /** Peers whose X-Forwarded-For or PROXY header names the client. */
  trustedProxies: z.array(addressOrNetwork).max(256),
  api: z.strictObject({
    host: z.string().min(1).max(255),
    port,
    /** Without `/v1`; empty = `localhost` with `api.port`. */
    publicUrl: url,
    /** Its `httpPort` answers 308 to `publicUrl`. */
    ...tls,
  }),
  redirect: z.strictObject({
    host: z.string().min(1).max(255),
    port,
    /** 0 = by cores, as for all threads. Each owns a journal. */
    threads: count(0, 64),
    /** Its `httpPort` redirects as `port` does. */
    ...tls,
    /** Where the short domain itself leads, `/`; empty = to the page of an unknown code. */
    rootUrl: z.union([z.literal(''), webPage]),
  }),
  /** Of unknown codes, and of workspaces without a brand. Each may be empty. */
  pages: z.strictObject({
    brandName: z.string().max(brandNameLengthMax),
    supportUrl: z.union([
      z.literal(''),
      z.url({ protocol: /^(?:https?|mailto|tel)$/ }).max(supportUrlLengthMax),
    ]),
    colour: z.union([
      z.literal(''),
      z.string().regex(/^#[\da-f]{6}$/i, 'must be a color as #0f6b5c'),
    ]),
  }),
  scans: z.strictObject({
    /** Each owns its share of the 64 partitions. */
    shards: count(0, 64),
    /** Age at which a journal segment is closed; it is deleted once counted. */
    segmentMsMax: count(10, 3_600_000),
    /** Of each redirect thread, while its journal cannot be written. */
    backlogBytesMax: count(65_536, 1_073_741_824),
    /** 0 = only as long as their events need. */
    rawRetentionDays: count(0, 3_650),
  }),
  geo: z.strictObject({
    /** mmdb files; `bundled` = the table shipped with Quietzone, empty = none (`ZZ`). */
    countryFile: z.string().max(4_096),
    cityFileV4: z.string().max(4_096),
    cityFileV6: z.string().max(4_096),
  }),
  images: z.strictObject({
    threads: count(0, 64),
    cacheBytesMax: count(0, 4_294_967_296),
  }),
  metrics: z.strictObject({
    host: z.string().min(1).max(255),
    /** 0 = off. */
    port: z.union([z.literal(0), port]),
  }),
  billing: z.strictObject({
    provider: z.enum(['manual', 'stripe', 'none']),
    /** With `manual`. */
    confirmedBy: z.enum(['owner', 'operator']),
    currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case'),
    /** Major units of the currency; 0 = not sold here. With `manual` and no price nothing is sold. */
    prices: perPlan(z.number().min(0).max(1_000_000)),
    stripe: z.strictObject({
      /** `sk_…` or `rk_…`. Never logged. */
      secretKey: z.string().max(512),
      webhookSecret: z.string().max(512),
      apiBase: url,
      /** `price_…`; empty = not sold. */
      prices: perPlan(z.string().max(255)),
    }),
  }),
  webhooks: z.strictObject({
    threads: count(0, 64),
    /** From the end of each failed attempt to the next. The attempt after the last delay is the last. */
    retryDelaysMs: z.array(count(1, 2_592_000_000)).min(1).max(30),
    /** From the DNS look-up to the end of the answer. */
    attemptTimeoutMs: count(100, 60_000),
    /** In an endpoint's list, the newest. */
    deliveriesKept: count(1, 1_000_000),
    /** Private networks that webhooks may reach although the guard denies them. */
    allowNetworks: z.array(z.union([z.cidrv4(), z.cidrv6()])).max(256),
  }),
  mail: z.strictObject({
    /** Empty = no mail is sent, links are shown instead. */
    host: z.string().max(255),
    port,
    /** TLS from the start (465); else STARTTLS (587). */
    secure: z.boolean(),
    /** False: mails and the password go out in clear text where the server offers no TLS. */
    requireTls: z.boolean(),
    /** Empty = no sign-in. */
    user: z.string().max(256),
    password: z.string().max(1_024),
    /** `Name <address>` or an address alone. */
    from: z.string().max(320),
  }),
  log: z.strictObject({
    level: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']),
  }),
  cluster: z.strictObject({
    /** Brokers, such as `nats://core:password@n1:4222`; empty = this machine alone. */
    nats: z.array(z.string().min(1).max(512)).max(32),
    /** `edge` redirects, `core` keeps the data and may lead, `all` does both. */
    role: z.enum(['all', 'core', 'edge']),
    /** Unique; empty = the host name up to the first dot. */
    nodeName: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must be 1 to 63 letters, digits, "-" or "_"'),
    /** Of this machine's API; empty = the host name with `api.port`. */
    advertiseUrl: url,
    /** `advertiseUrl` may begin with `http:` beyond this machine. */
    plainHttp: z.boolean(),
    /** The same on every core, none on an edge. Never logged. */
    secret: z.union([
      z.literal(''),
      z.string().min(32, 'must have 32 characters or more').max(256),
    ]),
    credsFile: z.string().max(4_096),
    /** Of each stream of the brokers. */
    replicas: z.union([z.literal(1), z.literal(3), z.literal(5)]),
  }),
  bootstrap: z.strictObject({
    email: z.email().max(254),
    /** Empty = one is generated and printed once. */
    password: z.string().max(256),
    plan: z.enum(['free', 'starter', 'pro', 'business', 'enterprise']),
  }),
});
