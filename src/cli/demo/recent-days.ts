/**
 * The demo's last days, beside a service that counts its scans: a campaign ends, targets change, guests order, webhooks are
 * set up and used, and the last scans come by the short links themselves.
 */
import { dayMs, hourMs } from '../../model/day.ts';
import { endedCampaign, scheduledCampaign } from './content/campaigns.ts';
import { addressText } from './content/places.ts';
import { site } from './content/prints.ts';
import { restaurants } from './content/restaurants.ts';
import type { DemoDays } from './demo-days.ts';
import type { DemoProgress } from './demo-progress.ts';
import type { DemoService } from './demo-service.ts';
import type { MovedClock } from './moved-clock.ts';
import { Chance } from './random.ts';
import { paths, type Receiver } from './receiver.ts';
import { until, untilCounted } from './until-counted.ts';
import { Guests } from './visitors.ts';
import { makeCampaign } from './workspace.ts';

const secondMs = 1_000;
/** In days before the last one. */
const menuWeeks = [12, 8, 5];
const conversionsAWeek = 12;
/** Of today: each is a dead letter of the receiver that refuses. */
const changesToday = 3;
/** Of each restaurant, by its own short links. */
const liveScans = 2;

export interface RecentDaysOptions {
  readonly service: DemoService;
  readonly clock: MovedClock;
  readonly days: DemoDays;
  readonly seed: number;
  /** Of the codes, by the slug of their print. */
  readonly ids: ReadonlyMap<string, string>;
  readonly receiver: Receiver;
  /** Scans that are in the journals. */
  readonly journaled: number;
  readonly progress: DemoProgress;
}

/** The moment with which `makeRecentDays` begins: the campaign is about to end. */
export const recentMs = (days: DemoDays): number =>
  days.startMs(endedCampaign.endDays) + dayMs - secondMs;

/** @returns scans that came meanwhile */
export async function makeRecentDays(options: RecentDaysOptions): Promise<number> {
  const { service, clock, days, ids, journaled, progress } = options;
  const { api } = service;
  const onCounted = (counted: number): void => progress.show(counted / journaled);
  const counting = { api, clock, days, onCounted };
  await untilCounted(counting, journaled);
  progress.begin('deliveries');
  clock.moveTo(recentMs(days) + 5 * secondMs);
  await until('end of a campaign', clock, async () => {
    const events = await api.get('/events?type=campaign.ended');
    return events.get('data').items.length > 0;
  });
  for (const daysBefore of menuWeeks) {
    clock.moveTo(days.startMs(daysBefore) + 8 * hourMs);
    await changeMenu(options, daysBefore);
    await convert(options, daysBefore);
  }
  clock.moveTo(days.startMs(scheduledCampaign.madeDays) + 11 * hourMs);
  await makeCampaign(api, scheduledCampaign, days, ids);
  clock.moveTo(days.startMs(2) + 12 * hourMs);
  await api.post('/team/invites', { email: 'lena@saffron-and-rye.example', role: 'admin' });
  const endpoints = await addEndpoints(options);
  clock.moveTo(Infinity);
  for (let change = 0; change < changesToday; change += 1) await changeMenu(options, -change);
  const scans = await scanLive(options);
  await untilCounted({ ...counting, onCounted: () => undefined }, journaled + scans);
  await untilDelivered(options, endpoints);
  return scans;
}

function codeId(ids: ReadonlyMap<string, string>, slug: string): string {
  const id = ids.get(slug);
  if (id === undefined) throw new Error(`Cannot find the code ${slug}: expected it to be made`);
  return id;
}

/** The lunch of another week. */
async function changeMenu({ service, ids }: RecentDaysOptions, daysBefore: number): Promise<void> {
  const { prefix, path } = restaurants[Math.abs(daysBefore) % restaurants.length]!;
  const target = `${site}/${path}/menu/lunch?week=${100 - daysBefore}`;
  await service.api.patch(`/qr-codes/${codeId(ids, `${prefix}-LUNCH`)}`, { target });
}

/** Guests who scanned and ordered. */
async function convert(
  { service, ids, seed }: RecentDaysOptions,
  daysBefore: number,
): Promise<void> {
  const chance = new Chance(seed, daysBefore);
  for (let order = 1; order <= conversionsAWeek; order += 1) {
    const { prefix } = chance.pick(restaurants);
    const suffix = chance.pick(['RECEIPT', 'MENU', 'T1']);
    await service.api.post('/conversions', {
      qrCodeId: codeId(ids, `${prefix}-${suffix}`),
      value: 12 + chance.below(480) / 10,
      externalId: `order-${daysBefore}-${order}`,
    });
  }
}

interface EndpointIds {
  readonly taking: string;
  readonly refusing: string;
}

async function addEndpoints({
  service: { api },
  receiver: { url },
}: RecentDaysOptions): Promise<EndpointIds> {
  const taking = await api.post('/webhooks', {
    url: url + paths.taking,
    events: ['*'],
    description: 'Orders and rewards',
  });
  const refusing = await api.post('/webhooks', {
    url: url + paths.refusing,
    events: ['qr.updated', 'campaign.ended'],
    description: 'Old register in the basement',
  });
  return { taking: taking.get('id').text, refusing: refusing.get('id').text };
}

/** By the short links, as phones do it. */
async function scanLive({ service, seed }: RecentDaysOptions): Promise<number> {
  const chance = new Chance(seed, liveScans);
  let scans = 0;
  for (const restaurant of restaurants) {
    const guests = new Guests(restaurant);
    for (let scan = 0; scan < liveScans; scan += 1) {
      const { address, agent, language } = guests.next(chance);
      const response = await fetch(`${service.redirects}/${restaurant.prefix}-T${1 + scan}`, {
        redirect: 'manual',
        headers: {
          'user-agent': agent,
          'accept-language': language,
          'x-forwarded-for': addressText(address),
        },
      });
      if (response.status === 302) scans += 1;
    }
  }
  return scans;
}

async function untilDelivered(
  { service: { api }, clock, progress }: RecentDaysOptions,
  { taking, refusing }: EndpointIds,
): Promise<void> {
  const count = async (endpoint: string, state: string): Promise<number> =>
    (await api.get(`/webhooks/${endpoint}/deliveries?state=${state}&limit=100`)).get('data').items
      .length;
  await until('deliveries', clock, async () => {
    const dead = await count(refusing, 'dead');
    progress.show(dead / changesToday);
    return dead === changesToday && (await count(taking, 'delivered')) > changesToday;
  });
}
