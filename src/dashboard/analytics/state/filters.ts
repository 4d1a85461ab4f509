/**
 * The dimensions of scans, and their labels. Nearly every dimension is also a filter: a click on a row filters by its
 * key.
 */
import { targetLabel } from '../../../model/routing/labels.ts';
import { capitalize, countryName } from '../../client/format.ts';

export const filterNames = [
  'country',
  'city',
  'device',
  'os',
  'browser',
  'referer',
  'tag',
  'campaign',
  'code',
  'route',
] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = Partial<Readonly<Record<FilterName, string>>>;

export type Dimension = FilterName | 'bot' | 'missed';

export const dimensionLabels: Readonly<Record<Dimension, string>> = {
  country: 'Countries',
  city: 'Cities',
  device: 'Devices',
  os: 'Systems',
  browser: 'Browsers',
  referer: 'Referrers',
  tag: 'Tags',
  campaign: 'Campaigns',
  code: 'Codes',
  route: 'Routes',
  bot: 'Filtered bots',
  missed: 'While inactive',
};

/** Label of one filter, before its value. */
export const filterLabels: Readonly<Record<FilterName, string>> = {
  country: 'Country',
  city: 'City',
  device: 'Device',
  os: 'System',
  browser: 'Browser',
  referer: 'Referrer',
  tag: 'Tag',
  campaign: 'Campaign',
  code: 'Code',
  route: 'Route',
};

/** Dimensions with keys that are names of the API: `not_started`. */
const namedKeys: ReadonlySet<Dimension> = new Set(['bot', 'device', 'missed']);

/** A row's key in words. Rows of codes and campaigns have a name instead. */
export function keyLabel(dimension: Dimension, key: string): string {
  if (dimension === 'country') return countryName(key);
  if (dimension === 'route' && key === targetLabel) return 'Everyone else';
  if (dimension === 'referer' && key === 'direct') return 'Direct (camera)';
  if (key === '') return 'Unknown';
  if (namedKeys.has(dimension)) return capitalize(key.replaceAll('_', ' '));
  return key;
}

export const isFilter = (dimension: Dimension): dimension is FilterName =>
  filterNames.some((name) => name === dimension);

/** The empty key (an unknown city) in an address, where an empty text means no filter. */
const emptyKey = '-';
export const addressOfKey = (key: string): string => (key === '' ? emptyKey : key);
export const keyInAddress = (text: string): string => (text === emptyKey ? '' : text);
