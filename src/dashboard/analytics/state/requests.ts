/** The API requests of a page, from its state. */
import type { Dimension } from './filters.ts';
import { compareText, type ViewState } from './view-state.ts';

/** The subject of the numbers: its paths below /v1, its dimensions and filters. */
export interface Subject {
  readonly kind: 'workspace' | 'code' | 'campaign';
  readonly totals: string;
  /** Base of `/timeseries` and `/breakdown`. */
  readonly base: string;
}

export const workspaceSubject: Subject = {
  kind: 'workspace',
  totals: '/analytics/summary',
  base: '/analytics',
};

export function subjectOf(kind: 'code' | 'campaign', id: string): Subject {
  const base = `/${kind === 'code' ? 'qr-codes' : 'campaigns'}/${id}/analytics`;
  return { kind, totals: base, base };
}

/** The API's parameters for ids. */
const idParameters: Readonly<Record<string, string>> = { campaign: 'campaignId', code: 'qrCodeId' };

type Shown = Pick<ViewState, 'range' | 'zone' | 'filters'>;

/** Days, zone and filters, as every request has them. */
function span({ range, zone, filters }: Shown): string {
  const parts = [`from=${range.from}`, `to=${range.to}`, `timezone=${zone}`];
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined)
      parts.push(`${idParameters[name] ?? name}=${encodeURIComponent(value)}`);
  }
  return parts.join('&');
}

function compared({ compare, comparedTo }: ViewState): string {
  if (compare === 'none') return '';
  return `&compare=${comparedTo === undefined ? compare : compareText(comparedTo)}`;
}

export const totalsPath = ({ totals }: Subject, state: ViewState): string =>
  `${totals}?${span(state)}${compared(state)}`;

export const seriesPath = ({ base }: Subject, state: ViewState): string =>
  `${base}/timeseries?${span(state)}&interval=${state.interval}${compared(state)}`;

export const breakdownPath = (
  { base }: Subject,
  state: Shown,
  by: Dimension | 'hour_of_week',
): string => `${base}/breakdown?${span(state)}&by=${by}`;
