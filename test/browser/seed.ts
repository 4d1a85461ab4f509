/** A sample workspace: codes, scans from several countries, a campaign, members, endpoints. */
import { word } from '../support/client.ts';
import { pause } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import type { Harness } from './harness.ts';

export const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
export const android =
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36';
const desktop =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Safari/537.36';

export type Visitor = readonly [address: string, agent: string];
/** In several countries. */
const visitors: readonly Visitor[] = [
  ['193.99.144.80', iphone],
  ['194.25.0.60', android],
  ['80.67.169.12', iphone],
  ['8.8.8.8', desktop],
  ['1.1.1.1', android],
  ['133.11.0.1', iphone],
  ['62.2.24.162', iphone],
  ['200.160.2.3', android],
];

/** Where nothing is looked for by them. */
export const noIds = {
  codeId: 'qr_00000000000000000000',
  wifiId: 'qr_00000000000000000001',
  /** Over its scan limit. */
  endedId: 'qr_00000000000000000002',
  campaignId: 'cmp_00000000000000000000',
  endpointId: 'wh_00000000000000000000',
  /** A dead delivery: the receiver refuses everything. */
  deliveryId: 'dlv_00000000000000000000',
  /** Of a link that invites jane@example.com. */
  inviteToken: '',
};
export type Seeded = Readonly<typeof noIds>;

/** The day so many days from now, in UTC. */
const dateIn = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

/** Its id. */
export const makeCampaign = async (
  { post }: Harness,
  name: string,
  qrCodeIds: readonly string[],
  days: object = { startDate: dateIn(0) },
): Promise<string> => word((await post('/campaigns', { name, qrCodeIds, ...days })).id);

export async function seed(harness: Harness, receiverUrl: string): Promise<Seeded> {
  const { api, post, makeCode } = harness;
  const rows = Array.from({ length: 28 }, (_, index) => ({
    target: `https://example.com/posters/${index + 1}?utm_source=print`,
    ...(index % 3 === 0 ? { name: `Poster ${index + 1}, platform ${index % 7}` } : {}),
    tags: index % 2 === 0 ? ['poster', 'spring'] : [],
  }));
  await api.post('/v1/qr-codes/bulk', rows);
  const wifi = await makeCode({
    type: 'wifi',
    target: 'WIFI:T:WPA;S:Guests;P:coffee-please;;',
    dynamic: false,
    name: 'Wi-Fi of the guests',
  });
  const ended = await makeCode({ name: 'Voucher', scanLimit: 1 });
  await scan(ended.shortUrl);
  const tags = ['menu', 'berlin'];
  const code = await makeCode({ name: 'Table 12', tags, scanLimit: 10_000 });
  for (const visitor of visitors) await scan(code.shortUrl, ...visitor);
  await api.patch(`/v1/qr-codes/${code.id}`, { target: 'https://example.com/menu/summer' });
  const summer = { startDate: dateIn(0), endDate: dateIn(40) };
  const campaignId = await makeCampaign(harness, 'Summer menu', [code.id], summer);
  await makeCampaign(harness, 'Autumn fair', [], { startDate: dateIn(30), endDate: dateIn(75) });
  await makeCampaign(harness, 'Always on', []);
  await post('/watches', { qrCodeId: code.id, silentHours: 24, spikeFactor: 5, target: true });
  await post('/conversions', { qrCodeId: code.id, externalId: 'order-1' });
  const invite = await post('/team/invites', { email: 'jane@example.com', role: 'editor' });
  await post('/api-keys', { name: 'Till in the north hall', role: 'editor' });
  const endpoint = await post('/webhooks', {
    url: `${receiverUrl}/hooks`,
    events: ['*'],
    description: 'Till in the north hall',
  });
  await scan(code.shortUrl);
  const letter = await found(
    'a dead letter: expected the receiver to refuse everything',
    async () => (await api.get('/v1/webhooks/dead-letters')).items.at(0),
  );
  return {
    codeId: code.id,
    wifiId: wifi.id,
    endedId: ended.id,
    campaignId,
    endpointId: word(endpoint.id),
    deliveryId: word(letter.id),
    inviteToken: word(invite.token),
  };
}

/** Asks until there is something, as often as the quota allows. */
async function found<T>(what: string, find: () => Promise<T | undefined>): Promise<T> {
  const deadlineMs = performance.now() + 60_000;
  for (;;) {
    const one = await find();
    if (one !== undefined) return one;
    if (performance.now() > deadlineMs) throw new Error(`Cannot find ${what}`);
    await pause(soon.interval);
  }
}

/** A page shows what is counted when it is opened: waits until all scans of the workspace are. */
export async function untilCounted({ api }: Harness, scans: number): Promise<void> {
  await found(`${scans} counted scans`, async () => {
    const { totalScans } = (await api.get('/v1/analytics/summary')).json;
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
