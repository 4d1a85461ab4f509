/** Scans by one dimension, with tabs for the others. Loads only the one shown: every request counts. */
import { useState } from 'preact/hooks';
import { targetLabel } from '../../model/routing/labels.ts';
import { capitalize, countryName } from '../client/format.ts';
import { useResource } from '../client/resource.ts';
import type { Breakdown } from '../client/wire.ts';
import { Bars, Hours } from './bars.tsx';
import { Tabs } from './list.tsx';
import { Card, Ready, Skeleton } from './page.tsx';

export type Dimension =
  | 'country'
  | 'city'
  | 'os'
  | 'browser'
  | 'device'
  | 'referer'
  | 'hour'
  | 'bot'
  | 'route'
  | 'missed';

const labels: Readonly<Record<Dimension, string>> = {
  country: 'Countries',
  city: 'Cities',
  os: 'OS',
  browser: 'Browsers',
  device: 'Devices',
  referer: 'Referrers',
  hour: 'Hour of day',
  bot: 'Filtered bots',
  route: 'Routes',
  missed: 'In vain',
};

interface BreakdownProps {
  /** Path below /v1: `…/analytics`. */
  readonly base: string;
  readonly span: string;
  readonly title: string;
  readonly by: readonly Dimension[];
}

const cardHeight = 260;

export function BreakdownCard({ base, span, title, by }: BreakdownProps) {
  const [chosen, setChosen] = useState<Dimension>(by[0] ?? 'country');
  const shares = useResource<Breakdown>(`${base}/breakdown?${span}&by=${chosen}`);
  const tabs = by.map((value) => ({ value, label: labels[value] }));
  return (
    <Card
      title={title}
      actions={
        tabs.length > 1 && <Tabs label={title} value={chosen} tabs={tabs} onChange={setChosen} />
      }
    >
      <Ready of={shares} skeleton={<Skeleton height={cardHeight} />}>
        {(data) => <Shares dimension={chosen} data={data} />}
      </Ready>
    </Card>
  );
}

function Shares({ dimension, data }: { readonly dimension: Dimension; readonly data: Breakdown }) {
  if (dimension === 'hour') {
    const hours = new Map(data.data.map(({ key, scans }) => [Number(key), scans]));
    return <Hours hours={hours} />;
  }
  // `Bars` shows what is missing from the total as `Other`.
  const shares = data.data
    .filter(({ key }) => key !== 'other')
    .map(({ key, scans }) => ({ key, label: keyLabel(dimension, key), value: scans }));
  const total = data.data.reduce((sum, { scans }) => sum + scans, 0);
  const emptyText = dimension === 'bot' ? 'No bots in this period' : 'No scans in this period';
  return <Bars key={dimension} shares={shares} total={total} emptyText={emptyText} />;
}

/** Their keys are names of the API: `not_started`. */
const namedKeys: ReadonlySet<Dimension> = new Set(['bot', 'device', 'missed']);

function keyLabel(dimension: Dimension, key: string): string {
  if (dimension === 'country') return countryName(key);
  if (dimension === 'route' && key === targetLabel) return 'Everyone else';
  if (key === '') return dimension === 'referer' ? 'Direct (camera)' : 'Unknown';
  if (namedKeys.has(dimension)) return capitalize(key.replaceAll('_', ' '));
  return key;
}
