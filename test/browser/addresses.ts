/** Every page of the dashboard, with what it shows once it is ready. */
import type { Page } from 'playwright-core';
import type { Seeded } from './seed.ts';

/** `shows` is text that comes with its data. */
export type Address = readonly [
  name: string,
  path: string,
  heading: string | RegExp,
  shows: string | RegExp,
];

export const addresses = (seeded: Seeded): readonly Address[] => [
  ...codeAddresses(seeded),
  ...campaignAddresses(seeded),
  ...settingsAddresses(seeded),
];

export function codeAddresses({ codeId, wifiId, endedId }: Seeded): readonly Address[] {
  const code = `/codes/${codeId}`;
  return [
    ['overview', '/', 'Overview', 'Most scanned'],
    ['analytics', '/analytics', 'Analytics', 'Unique scanners'],
    ['codes', '/codes', 'Codes', 'Table 12'],
    // With a hyphen: no short code or id that is drawn at random has one.
    ['codes-none', '/codes?search=not-found', 'Codes', 'No codes match'],
    ['new-code', '/codes/new', 'New code', 'Web address'],
    ['import', '/codes/import', 'Import codes', 'Choose a file'],
    ['code', code, 'Table 12', 'Unique scanners'],
    ['code-routes', `${code}?part=routes`, 'Table 12', 'App stores'],
    ['code-scans', `${code}?part=scans`, 'Table 12', 'Referrer'],
    ['code-design', `${code}?part=design`, 'Table 12', 'Quiet zone'],
    ['code-history', `${code}?part=history`, 'Table 12', 'summer'],
    ['code-details', `${code}?part=details`, 'Table 12', 'For developers'],
    ['code-static', `/codes/${wifiId}`, /Wi-Fi/, 'Content'],
    ['code-ended', `/codes/${endedId}`, 'Voucher', 'This code has reached its scan limit'],
  ];
}

/** And of the team and billing. */
export const campaignAddresses = ({ campaignId }: Seeded): readonly Address[] => [
  ['campaigns', '/campaigns', 'Campaigns', 'Autumn fair'],
  ['new-campaign', '/campaigns/new', 'New campaign', 'First day'],
  ['campaign', `/campaigns/${campaignId}`, 'Summer menu', 'Conversion rate'],
  ['team', '/team', 'Team', 'jane@example.com'],
  ['billing', '/billing', 'Billing', 'Requests this minute'],
  ['checkout-none', '/billing/checkout/chk_0', 'Checkout', 'Checkout not found'],
];

export const settingsAddresses = ({ endpointId, deliveryId }: Seeded): readonly Address[] => [
  ['profile', '/settings/profile', 'Profile', 'Current password'],
  [
    'confirm-email',
    '/settings/confirm-email?token=x',
    'Confirm your new address',
    'You are signed in as',
  ],
  ['workspace', '/settings/workspace', 'Workspace', 'Your workspaces'],
  ['pages', '/settings/pages', 'Pages', 'Contact'],
  ['api-keys', '/settings/api-keys', 'API keys', 'Till in the north'],
  ['alerts', '/settings/alerts', 'Alerts', 'no scans for 24 hours'],
  ['webhooks', '/settings/webhooks', 'Webhooks', '/hooks'],
  ['webhook', `/settings/webhooks/${endpointId}`, /hooks/, 'qr.scanned'],
  ['delivery', `/settings/deliveries/${deliveryId}`, /^(qr|campaign)\./, 'HTTP 500'],
  ['dead-letters', '/settings/webhooks/dead-letters', 'Dead letters', /delivered|Event/],
  ['data', '/settings/data', 'Data', 'Single scans'],
  ['not-found', '/nothing/here', 'Not found', 'Page not found'],
];

/** Follows a link as the dashboard does: opens the next page in the same document. */
export async function follow(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`,
  );
}
