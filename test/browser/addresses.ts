/** Every page of the dashboard, with what it shows once it is ready. */
import type { Page } from 'playwright-core';
import { stepsOfToday } from '../seconds/runs.ts';
import type { Part } from './accessibility.ts';
import type { Seeded } from './seed.ts';

export interface Address {
  readonly name: string;
  readonly path: string;
  /** The page's heading. */
  readonly heading: string | RegExp;
  /** Text that comes with its data. */
  readonly shows: string | RegExp;
}

export const addresses = (seeded: Seeded): readonly Address[] => [
  ...codeAddresses(seeded),
  ...campaignAddresses(seeded),
  ...settingsAddresses(seeded),
];

export function codeAddresses({ codeId, wifiId, endedId }: Seeded): readonly Address[] {
  const code = `/codes/${codeId}`;
  return [
    { name: 'overview', path: '/', heading: 'Overview', shows: 'Most scanned' },
    { name: 'analytics', path: '/analytics', heading: 'Analytics', shows: 'Unique scanners' },
    { name: 'codes', path: '/codes', heading: 'Codes', shows: 'Table 12' },
    // With a hyphen: no short code or id that is drawn at random has one.
    {
      name: 'codes-none',
      path: '/codes?search=not-found',
      heading: 'Codes',
      shows: 'No codes match',
    },
    { name: 'new-code', path: '/codes/new', heading: 'New code', shows: 'Web address' },
    { name: 'import', path: '/codes/import', heading: 'Import codes', shows: 'Choose a file' },
    { name: 'code', path: code, heading: 'Table 12', shows: 'Unique scanners' },
    { name: 'code-routes', path: `${code}?part=routes`, heading: 'Table 12', shows: 'App stores' },
    { name: 'code-scans', path: `${code}?part=scans`, heading: 'Table 12', shows: 'Referrer' },
    { name: 'code-design', path: `${code}?part=design`, heading: 'Table 12', shows: 'Quiet zone' },
    { name: 'code-history', path: `${code}?part=history`, heading: 'Table 12', shows: 'summer' },
    {
      name: 'code-details',
      path: `${code}?part=details`,
      heading: 'Table 12',
      shows: 'For developers',
    },
    { name: 'code-static', path: `/codes/${wifiId}`, heading: /Wi-Fi/, shows: 'Content' },
    {
      name: 'code-ended',
      path: `/codes/${endedId}`,
      heading: 'Voucher',
      shows: 'This code has reached its scan limit',
    },
  ];
}

/** And of the team and billing. */
export function campaignAddresses({ campaignId }: Seeded): readonly Address[] {
  return [
    { name: 'campaigns', path: '/campaigns', heading: 'Campaigns', shows: 'Autumn fair' },
    { name: 'new-campaign', path: '/campaigns/new', heading: 'New campaign', shows: 'First day' },
    {
      name: 'campaign',
      path: `/campaigns/${campaignId}`,
      heading: 'Summer menu',
      shows: 'Conversion rate',
    },
    { name: 'team', path: '/team', heading: 'Team', shows: 'jane@example.com' },
    { name: 'billing', path: '/billing', heading: 'Billing', shows: 'Requests this minute' },
    {
      name: 'checkout-none',
      path: '/billing/checkout/chk_0',
      heading: 'Checkout',
      shows: 'no checkout at this address',
    },
  ];
}

export function settingsAddresses({ endpointId, deliveryId }: Seeded): readonly Address[] {
  return [
    { name: 'profile', path: '/settings/profile', heading: 'Profile', shows: 'Current password' },
    {
      name: 'confirm-email',
      path: '/settings/confirm-email?token=x',
      heading: 'Confirm your new address',
      shows: 'You are signed in as',
    },
    {
      name: 'workspace',
      path: '/settings/workspace',
      heading: 'Workspace',
      shows: 'Your workspaces',
    },
    { name: 'pages', path: '/settings/pages', heading: 'Pages', shows: 'Where people can ask' },
    {
      name: 'api-keys',
      path: '/settings/api-keys',
      heading: 'API keys',
      shows: 'Till in the north',
    },
    {
      name: 'alerts',
      path: '/settings/alerts',
      heading: 'Alerts',
      shows: 'no scans for 24 hours',
    },
    { name: 'webhooks', path: '/settings/webhooks', heading: 'Webhooks', shows: '/hooks' },
    {
      name: 'webhook',
      path: `/settings/webhooks/${endpointId}`,
      heading: /hooks/,
      shows: 'qr.scanned',
    },
    {
      name: 'delivery',
      path: `/settings/deliveries/${deliveryId}`,
      heading: /^(qr|campaign)\./,
      shows: 'HTTP 500',
    },
    {
      name: 'dead-letters',
      path: '/settings/webhooks/dead-letters',
      heading: 'Dead letters',
      shows: /delivered|Event/,
    },
    { name: 'data', path: '/settings/data', heading: 'Data', shows: 'Single scans' },
    { name: 'not-found', path: '/nothing/here', heading: 'Not found', shows: 'no page' },
  ];
}

/** Axe sees each page on one of two screens, on the other the next day; on both in `npm run test:long`. */
export function isSeenOn(screen: 'wide' | 'phone', index: number): boolean {
  const { first, every } = stepsOfToday(2);
  return every === 1 || (index + first) % every === (screen === 'wide' ? 0 : 1);
}

/** What axe looks at on a page: the frame is the same on all, the cards of the analytics are the same on several. */
export function partOf(name: string): Part {
  if (name === 'overview') return 'html';
  return name === 'analytics' ? 'main' : { include: ['main'], exclude: ['.explore-cards'] };
}

/** Follows a link as the dashboard does: opens the next page in the same document. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}
