/** What a page asks the API, from what it shows. */
import type { Dimension } from './filters.ts';
import { compareText, type ViewState } from './view-state.ts';

/** Whose numbers: the paths below /v1, and what can be told apart and filtered there. */
export interface Subject {
  readonly kind: 'workspace' | 'code' | 'campaign';
  readonly totals: string;
  /** Of `/timeseries` and `/breakdown`. */
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

/** The names that the API knows ids by. */
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
