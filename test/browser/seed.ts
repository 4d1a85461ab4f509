/** A sample workspace: codes, scans from several countries, a campaign, members, endpoints. */
import { type Client, type Json, word } from '../support/client.ts';
import { pause } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { type Harness, waitMs } from './harness.ts';

/** Eight attempts, some hundred milliseconds apart. */
const deadMsMax = 60_000;

const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
const android =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36';
const desktop =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';

/** Addresses in several countries. */
const visitors: ReadonlyArray<readonly [address: string, agent: string]> = [
  ['193.99.144.80', iphone],
  ['194.25.0.60', android],
  ['80.67.169.12', iphone],
  ['8.8.8.8', desktop],
  ['1.1.1.1', android],
  ['133.11.0.1', iphone],
  ['62.2.24.162', iphone],
  ['200.160.2.3', android],
];

export interface Seeded {
  readonly codeId: string;
  readonly shortUrl: string;
  readonly wifiId: string;
  /** Over its scan limit. */
  readonly endedId: string;
  readonly campaignId: string;
  readonly endpointId: string;
  /** A dead delivery: the receiver refuses everything. */
  readonly deliveryId: string;
  /** Of a link that invites jane@example.com. */
  readonly inviteToken: string;
}

/** Where nothing is looked for by them. */
export const noIds: Seeded = {
  codeId: 'qr_00000000000000000000',
  shortUrl: '',
  wifiId: 'qr_00000000000000000001',
  endedId: 'qr_00000000000000000002',
  campaignId: 'cmp_00000000000000000000',
  endpointId: 'wh_00000000000000000000',
  deliveryId: 'dlv_00000000000000000000',
  inviteToken: '',
};

export async function seed({ api }: Harness, receiverUrl: string): Promise<Seeded> {
  const post = async (path: string, body: unknown): Promise<Json> =>
    (await api.call('POST', `/v1${path}`, { body })).json;
  const rows = Array.from({ length: 28 }, (_, index) => ({
    target: `https://example.com/posters/${index + 1}?utm_source=print`,
    ...(index % 3 === 0 ? { name: `Poster ${index + 1}, platform ${index % 7}` } : {}),
    tags: index % 2 === 0 ? ['poster', 'spring'] : [],
  }));
  await post('/qr-codes/bulk', rows);
  const wifi = await post('/qr-codes', {
    type: 'wifi',
    target: 'WIFI:T:WPA;S:Guests;P:coffee-please;;',
    dynamic: false,
    name: 'Wi-Fi of the guests',
  });
  const ended = await post('/qr-codes', {
    target: 'https://example.com/voucher',
    name: 'Voucher',
    scanLimit: 1,
  });
  await scan(word(ended.shortUrl));
  const code = await post('/qr-codes', {
    target: 'https://example.com/menu',
    name: 'Table 12',
    tags: ['menu', 'berlin'],
    scanLimit: 10_000,
  });
  const [codeId, shortUrl] = [word(code.id), word(code.shortUrl)];
  for (const [address, agent] of visitors) await scan(shortUrl, address, agent);
  await api.call('PATCH', `/v1/qr-codes/${codeId}`, {
    body: { target: 'https://example.com/menu/summer' },
  });
  const today = new Date();
  const day = (days: number): string =>
    new Date(today.getTime() + days * 86_400_000).toISOString().slice(0, 10);
  const campaign = await post('/campaigns', {
    name: 'Summer menu',
    startDate: day(0),
    endDate: day(40),
    qrCodeIds: [codeId],
  });
  await post('/campaigns', {
    name: 'Autumn fair',
    startDate: day(30),
    endDate: day(75),
    qrCodeIds: [],
  });
  await post('/campaigns', { name: 'Always on', startDate: day(0), qrCodeIds: [] });
  await post('/watches', { qrCodeId: codeId, silentHours: 24, spikeFactor: 5, target: true });
  await post('/conversions', { qrCodeId: codeId, externalId: 'order-1' });
  const invite = await post('/team/invites', { email: 'jane@example.com', role: 'editor' });
  await post('/api-keys', { name: 'Till in the north hall', role: 'editor' });
  const endpoint = await post('/webhooks', {
    url: `${receiverUrl}/hooks`,
    events: ['*'],
    description: 'Till in the north hall',
  });
  await scan(shortUrl);
  const deliveryId = await deadDelivery(api);
  return {
    codeId,
    shortUrl,
    wifiId: word(wifi.id),
    endedId: word(ended.id),
    campaignId: word(campaign.id),
    endpointId: word(endpoint.id),
    deliveryId,
    inviteToken: word(invite.token),
  };
}

/** The first dead letter. */
const deadDelivery = (api: Client): Promise<string> =>
  found('a dead letter: expected the receiver to refuse everything', deadMsMax, async () => {
    const [letter] = (await api.call('GET', '/v1/webhooks/dead-letters')).items;
    return letter && word(letter.id);
  });

/** Asks until there is something, as often as the quota allows. */
async function found<T>(
  what: string,
  msMax: number,
  find: () => Promise<T | undefined>,
): Promise<T> {
  const deadlineMs = performance.now() + msMax;
  for (;;) {
    const one = await find();
    if (one !== undefined) return one;
    if (performance.now() > deadlineMs) throw new Error(`Cannot find ${what}`);
    await pause(soon.interval);
  }
}

/** A page shows what is counted when it is opened: waits until all scans of the workspace are. */
export async function untilCounted({ api }: Harness, scans: number): Promise<void> {
  await found(`${scans} counted scans`, waitMs, async () => {
    const { totalScans } = (await api.call('GET', '/v1/analytics/summary')).json;
    return Number(totalScans) === scans ? scans : undefined;
  });
}

/** One scan, as a phone makes it. */
export async function scan(
  shortUrl: string,
  address = '193.99.144.80',
  agent = iphone,
): Promise<Response> {
  return await fetch(shortUrl, {
    redirect: 'manual',
    headers: { 'user-agent': agent, 'x-forwarded-for': address },
  });
}
