/** Faults of settings that are each valid but do not go together, as sentences. */
import { isLocalUrl } from './model/address.ts';

interface TlsSettings {
  readonly port: number;
  readonly tlsCertFile: string;
  readonly tlsKeyFile: string;
  readonly httpPort: number;
}

/** @param publicAddress where people reach this listener */
export function tlsFault(
  at: 'api' | 'redirect',
  { port, tlsCertFile, tlsKeyFile, httpPort }: TlsSettings,
  publicAddress: string,
): string | undefined {
  if ((tlsCertFile === '') !== (tlsKeyFile === '')) {
    return `${at}.tlsCertFile and ${at}.tlsKeyFile go together, only one is set`;
  }
  if (tlsCertFile === '' && httpPort !== 0) {
    return `${at}.httpPort is set without TLS, expected ${at}.tlsCertFile and ${at}.tlsKeyFile`;
  }
  // The threads of short links share their port: the kernel would deal out connections to either app.
  if (httpPort === port)
    return `${at}.httpPort and ${at}.port are both ${port}, expected two ports`;
  // Its scheme decides about cookies. Codes printed with http: may well lead to a port that speaks both.
  if (at === 'api' && tlsCertFile !== '' && !publicAddress.startsWith('https:')) {
    return 'api.publicUrl begins with http: and api.tlsCertFile is set, expected https:';
  }
  return undefined;
}

/** A short domain that leads to itself would keep browsers turning until they give up. */
export function rootFault(rootUrl: string, shortUrlBase: string): string | undefined {
  if (rootUrl === '') return undefined;
  const { origin, pathname } = new URL(rootUrl);
  const leadsToItself = origin === new URL(shortUrlBase).origin && pathname === '/';
  return leadsToItself
    ? `redirect.rootUrl is ${rootUrl}, which is where it leads from, expected another page`
    : undefined;
}

interface BillingSettings {
  readonly provider: string;
  readonly currency: string;
  readonly prices: Readonly<Record<string, { readonly month: number; readonly year: number }>>;
  readonly stripe: {
    readonly secretKey: string;
    readonly webhookSecret: string;
    readonly prices: Readonly<Record<string, { readonly month: string; readonly year: string }>>;
  };
}

/** Prices fit the decimals of their currency. Stripe has its secrets, and an amount here for each of its price ids. */
export function billingFault(billing: BillingSettings): string | undefined {
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
  for (const [plan, { month, year }] of Object.entries(stripe.prices)) {
    const here = prices[plan];
    if ((month === '' || here?.month) && (year === '' || here?.year)) continue;
    return `billing.stripe.prices.${plan} is set, expected the same amount in billing.prices.${plan}`;
  }
  return undefined;
}

interface ClusterSettings {
  readonly nats: readonly string[];
  readonly role: string;
  readonly secret: string;
  readonly advertiseUrl: string;
  readonly plainHttp: boolean;
}

/** Every core has the secret, and no edge: it may stand where others get at it. */
export function clusterFault({
  nats,
  role,
  secret,
  advertiseUrl,
  plainHttp,
}: ClusterSettings): string | undefined {
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
