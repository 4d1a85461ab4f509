/**
 * The history of the demo's workspace, in order of time and through the API. A clock in the past gives each event its
 * age: codes and campaigns before the scans, the last weeks after the scans are counted.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import { dayMs, dayOf, formatDay, hourMs, isoTime } from '../../model/day.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { bodiesOf, logoOf, restaurants, site } from './content.ts';
import { paths } from './receiver.ts';
import { chanceOf, days, pick } from './traffic.ts';

/** In a reserved domain (RFC 2606). */
export const owner = 'owner@saffron-and-rye.example';
export const colleagues = [
  { email: 'ana@saffron-and-rye.example', name: 'Ana Duarte', role: 'editor' },
  { email: 'tom@saffron-and-rye.example', name: 'Tom Keller', role: 'viewer' },
] as const;

/** The machine's clock, moved back: the stores record this time. It only moves forward. */
export class PastClock implements Clock {
  /** UTC day of making the demo. */
  readonly today = dayOf(systemClock.now());
  /** An invented boot id, so that the next start uses the wall clock. */
  readonly steady = { bootId: '', sinceBootMs: () => this.now() };
  #behindMs = Infinity;

  now(): number {
    return systemClock.now() - this.#behindMs;
  }

  monotonicMs(): number {
    return systemClock.monotonicMs();
  }

  /** At most to the machine's time. @param ago days before today @param hour UTC */
  moveTo(ago: number, hour: number): void {
    const behindMs = systemClock.now() - (this.today - ago) * dayMs - hour * hourMs;
    this.#behindMs = Math.max(0, Math.min(this.#behindMs, behindMs));
  }

  date(ago: number): string {
    return formatDay(this.today - ago);
  }
}

/** The fields of answers that the demo reads. */
interface Answer {
  readonly id: string;
  readonly token: string;
  readonly totalScans: number;
  readonly data: readonly Answer[];
  readonly results: ReadonlyArray<{ readonly qrCode?: Answer; readonly error?: unknown }>;
}

/** @param request method and path @param body a text is an SVG @throws Error for an answer without success */
export type Api = (request: string, body?: unknown) => Promise<Answer>;

/** @param url with `/v1` */
export function apiAt(url: string, key: string): Api {
  return async (request, body) => {
    const [method = '', path] = request.split(' ');
    const isText = typeof body === 'string';
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': isText ? 'image/svg+xml' : 'application/json',
      },
      body: body === undefined ? null : isText ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Cannot make the demo: ${request} answered ${text}`);
    const answer: Answer = JSON.parse(text);
    return answer;
  };
}

/** The workspace while its demo is made. */
export interface Scene {
  readonly api: Api;
  readonly clock: PastClock;
  /** Ids of codes by slug. */
  readonly ids: Map<string, string>;
}

/** The days of the two service starts: one makes the workspace, one the last weeks. */
export const beginAgo = days + 5;
export const festivalEndAgo = 16;

/** @param password of all users @param share of the standard number of scans */
export async function makeWorkspace(scene: Scene, password: string, share: number): Promise<void> {
  const { api, clock, ids } = scene;
  const time = (ago: number): string => isoTime((clock.today - ago) * dayMs);
  const [workspace] = (await api('GET /workspaces')).data;
  await api(`PATCH /workspaces/${workspace?.id}`, {
    name: 'Saffron & Rye',
    timezone: 'Europe/Berlin',
  });
  for (const { email, name, role } of colleagues) {
    const { token } = await api('POST /team/invites', { email, role });
    await api('POST /team/invites/accept', { token, name, password });
  }
  await api('POST /api-keys', { name: 'Order system', role: 'editor' });
  for (const [index, restaurant] of restaurants.entries()) {
    const { opened = beginAgo - 4 } = restaurant.usual;
    clock.moveTo(opened + 3, 7 + 2 * index);
    const { id } = await api('POST /logos', logoOf(restaurant));
    const { results } = await api('POST /qr-codes/bulk', bodiesOf(restaurant, id, time, share));
    for (const [at, slug] of Object.keys(restaurant.prints).entries()) {
      const { qrCode, error } = results[at]!;
      if (qrCode === undefined) throw new Error(`Cannot make ${slug}: ${JSON.stringify(error)}`);
      ids.set(slug, qrCode.id);
    }
  }
  await addCampaign(scene, 'Scan your receipt', ['-RECEIPT'], 60);
  clock.moveTo(38, 10);
  await addCampaign(scene, 'Festival of flavors', ['-POSTER'], 34, festivalEndAgo);
  clock.moveTo(30, 10);
  await addCampaign(scene, 'Tasting menu', ['-MENU', '-T1'], 28, -25);
}

/** @param receiver its address */
export async function makeLastWeeks(scene: Scene, receiver: string): Promise<void> {
  const { api, clock } = scene;
  clock.moveTo(festivalEndAgo - 1, 0);
  await until('end of a campaign', async () => {
    return (await api('GET /events?type=campaign.ended')).data.length > 0;
  });
  const chance = chanceOf(days);
  const scanned = idsOf(scene, '-RECEIPT', '-MENU', '-T1');
  for (const ago of [12, 8, 5]) {
    clock.moveTo(ago, 8);
    await changeMenu(scene, ago);
    for (let order = 1; order <= 12; order += 1) {
      await api('POST /conversions', {
        qrCodeId: pick(scanned, chance),
        value: 12 + Math.floor(chance() * 480) / 10,
        externalId: `order-${ago}-${order}`,
      });
    }
  }
  clock.moveTo(0, 24);
  const taking = await api('POST /webhooks', {
    url: receiver + paths.taking,
    events: ['*'],
    description: 'Orders and rewards',
  });
  const refusing = await api('POST /webhooks', {
    url: receiver + paths.refusing,
    events: ['qr.updated', 'campaign.ended'],
    description: 'Old register in the basement',
  });
  await addCampaign(scene, 'Takeaway fortnight', ['-BAG'], -10, -24);
  await api('POST /team/invites', { email: 'lena@saffron-and-rye.example', role: 'admin' });
  for (const week of [0, 1, 2]) await changeMenu(scene, week);
  const count = async ({ id }: Answer, state: string): Promise<number> =>
    (await api(`GET /webhooks/${id}/deliveries?state=${state}&limit=100`)).data.length;
  await until('deliveries', async () => {
    return (await count(refusing, 'dead')) === 3 && (await count(taking, 'delivered')) === 5;
  });
}

/** Waits until this many scans are counted. */
export async function untilCounted({ api, clock }: Scene, scans: number): Promise<void> {
  const range = `from=${clock.date(days - 1)}&to=${clock.date(0)}`;
  await until('counted scans', async () => {
    return (await api(`GET /analytics/summary?${range}`)).totalScans >= scans;
  });
}

/** Asks less often than the request limit, and longer than a working demo needs. */
async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  for (let asked = 0; asked < 400; asked += 1) {
    if (await isSo()) return;
    await pause(300);
  }
  throw new Error(`Cannot make the demo: no ${what} yet`);
}

/** Ids of codes with these slug suffixes. */
const idsOf = ({ ids }: Scene, ...suffixes: readonly string[]): readonly string[] =>
  [...ids].flatMap(([slug, id]) => (suffixes.some((suffix) => slug.endsWith(suffix)) ? [id] : []));

async function addCampaign(
  scene: Scene,
  name: string,
  suffixes: readonly string[],
  startAgo: number,
  endAgo?: number,
): Promise<void> {
  await scene.api('POST /campaigns', {
    name,
    startDate: scene.clock.date(startAgo),
    ...(endAgo !== undefined && { endDate: scene.clock.date(endAgo) }),
    qrCodeIds: idsOf(scene, ...suffixes),
  });
}

/** Changes the lunch menu of a week. */
async function changeMenu(scene: Scene, week: number): Promise<void> {
  const ids = idsOf(scene, '-LUNCH');
  const target = `${site}/menu/lunch?week=${week}`;
  await scene.api(`PATCH /qr-codes/${ids[week % ids.length]}`, { target });
}
