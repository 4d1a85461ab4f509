/** The workspace of the demo before its first scan: people, codes and campaigns, each made through the API when it came to be. */
import { dayMs, hourMs } from '../../model/day.ts';
import type { ApiClient } from './api-client.ts';
import { type DemoCampaign, runningCampaigns } from './content/campaigns.ts';
import { type Print, printsOf } from './content/prints.ts';
import { type Restaurant, restaurants } from './content/restaurants.ts';
import type { DemoDays } from './demo-days.ts';
import type { MovedClock } from './moved-clock.ts';
import type { PrintedAt } from './traffic.ts';

/** Its first restaurant is in Berlin. */
const workspaceSettings = { name: 'Saffron & Rye', timezone: 'Europe/Berlin' };
/** In a domain that nobody has (RFC 2606). */
export const owner = 'owner@saffron-and-rye.example';
export const colleagues = [
  { email: 'ana@saffron-and-rye.example', name: 'Ana Duarte', role: 'editor' },
  { email: 'tom@saffron-and-rye.example', name: 'Tom Keller', role: 'viewer' },
] as const;

/** It begins so long before its first scan. */
const beginDays = 6;
/** Prints are made so long before their restaurant opens. */
const printedDays = 3;

export const beginMs = (days: DemoDays): number => (days.first - beginDays) * dayMs + 9 * hourMs;

export interface MadeWorkspace {
  readonly printed: readonly PrintedAt[];
  /** Of the codes, by the slug of their print. */
  readonly ids: ReadonlyMap<string, string>;
}

export interface WorkspaceOptions {
  readonly api: ApiClient;
  readonly clock: MovedClock;
  readonly days: DemoDays;
  /** Of all people. */
  readonly password: string;
  /** As in `Printing`. */
  readonly share: number;
  readonly onCodes: (done: number) => void;
}

export async function makeWorkspace(options: WorkspaceOptions): Promise<MadeWorkspace> {
  const { api, clock, days } = options;
  const [workspace] = (await api.get('/workspaces')).get('data').items;
  await api.patch(`/workspaces/${workspace?.get('id').text}`, workspaceSettings);
  await addColleagues(options);
  const made = await makeCodes(options);
  for (const campaign of runningCampaigns) {
    clock.moveTo(days.startMs(campaign.madeDays) + 10 * hourMs);
    await makeCampaign(api, campaign, days, made.ids);
  }
  return made;
}

async function addColleagues({ api, clock, password }: WorkspaceOptions): Promise<void> {
  for (const { email, name, role } of colleagues) {
    const invite = await api.post('/team/invites', { email, role });
    clock.moveTo(clock.now() + hourMs);
    await api.post('/team/invites/accept', { token: invite.get('token').text, name, password });
  }
  await api.post('/api-keys', { name: 'Order system', role: 'editor' });
}

async function makeCodes({
  api,
  clock,
  days,
  share,
  onCodes,
}: WorkspaceOptions): Promise<MadeWorkspace> {
  const openMs = ({ openedDays }: Restaurant): number =>
    openedDays === undefined ? 0 : days.startMs(openedDays) - printedDays * dayMs;
  const inOrder = restaurants.toSorted((one, other) => openMs(one) - openMs(other));
  const ids = new Map<string, string>();
  const printed: PrintedAt[] = [];
  for (const restaurant of inOrder) {
    clock.moveTo(Math.max(clock.now() + 5 * hourMs, openMs(restaurant)));
    const logo = await api.postFile('/logos', 'image/svg+xml', restaurant.logo);
    const dayStart = (daysBefore: number): number => days.startMs(daysBefore);
    const prints = printsOf({ restaurant, logo: logo.get('id').text, dayMs: dayStart, share });
    await makePrints(api, prints, ids);
    printed.push({ restaurant, prints });
    onCodes(ids.size);
  }
  return { printed, ids };
}

async function makePrints(
  api: ApiClient,
  prints: readonly Print[],
  ids: Map<string, string>,
): Promise<void> {
  const answer = await api.post(
    '/qr-codes/bulk',
    prints.map(({ body }) => body),
  );
  for (const [index, result] of answer.get('results').items.entries()) {
    const slug = prints[index]?.slug ?? '';
    if (result.get('status').number !== 201) {
      throw new Error(`Cannot make ${slug}: ${result.get('error').get('detail').text}`);
    }
    ids.set(slug, result.get('qrCode').get('id').text);
  }
}

export async function makeCampaign(
  api: ApiClient,
  { name, startDays, endDays, suffixes }: DemoCampaign,
  days: DemoDays,
  ids: ReadonlyMap<string, string>,
): Promise<void> {
  const isIn = ([slug]: readonly [string, string]): boolean =>
    suffixes.some((suffix) => slug.endsWith(suffix));
  await api.post('/campaigns', {
    name,
    startDate: days.text(startDays),
    ...(endDays !== undefined && { endDate: days.text(endDays) }),
    qrCodeIds: [...ids].filter(isIn).map(([, id]) => id),
  });
}
