/** Campaigns on a timeline of months, with today. */
import { now } from '../../client/browser-clock.ts';
import { pathTo } from '../../paths.ts';
import { type Campaign, scheduleText, statusLabels } from './campaign-labels.ts';

const dayMs = 86_400_000;
/** Days shown around the campaigns; very long campaigns are cut at both ends. */
const aroundDays = 10;
const spanDaysMax = 400;
const spanDaysMin = 60;

interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/** A narrower month cannot show its name. */
const labelShareMin = 0.08;

const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

function spanOf(campaigns: readonly Campaign[], todayMs: number): Span {
  const starts = campaigns.map(({ startDate }) => startOf(startDate));
  const ends = campaigns.flatMap(({ endDate }) =>
    endDate === null ? [] : [startOf(endDate) + dayMs],
  );
  const around = aroundDays * dayMs;
  const half = (spanDaysMax / 2) * dayMs;
  const startMs = Math.max(todayMs - half, Math.min(todayMs, ...starts) - around);
  const endMs = Math.min(todayMs + half, Math.max(todayMs, ...ends) + around);
  return { startMs, endMs: Math.max(endMs, startMs + spanDaysMin * dayMs) };
}

interface Month {
  /** The first moment shown. */
  readonly key: number;
  readonly label: string;
  readonly share: number;
}

/** The months in a span, each with its share of the width. */
function monthsOf({ startMs, endMs }: Span): readonly Month[] {
  const zone = { timeZone: 'UTC' } as const;
  const month = new Intl.DateTimeFormat(undefined, { month: 'short', ...zone });
  const monthAndYear = new Intl.DateTimeFormat(undefined, {
    month: 'short',
    year: 'numeric',
    ...zone,
  });
  const months: Month[] = [];
  let at = startMs;
  while (at < endMs) {
    const date = new Date(at);
    const next = Math.min(endMs, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1));
    // The first month has the year; `Nov 26` would look like a day.
    const isNewYear = months.length === 0 || date.getUTCMonth() === 0;
    const label = (isNewYear ? monthAndYear : month).format(date);
    months.push({ key: at, label, share: (next - at) / (endMs - startMs) });
    at = next;
  }
  return months;
}

const percent = (fraction: number): string =>
  `${(Math.min(1, Math.max(0, fraction)) * 100).toFixed(2)}%`;

export function Schedule({ campaigns }: { readonly campaigns: readonly Campaign[] }) {
  const todayMs = now();
  const span = spanOf(campaigns, todayMs);
  const place = (ms: number): number => (ms - span.startMs) / (span.endMs - span.startMs);
  return (
    <div class="schedule" tabIndex={0} role="group" aria-label="Calendar of campaigns">
      <div class="schedule-grid">
        <div class="schedule-months" aria-hidden="true">
          {monthsOf(span).map(({ key, label, share }) => (
            <span key={key} class="schedule-month" style={{ width: percent(share) }}>
              {share > labelShareMin ? label : ''}
            </span>
          ))}
        </div>
        {campaigns.map((campaign) => {
          const { id, name, startDate, endDate, status } = campaign;
          const left = place(startOf(startDate));
          const right = endDate === null ? 1 : place(startOf(endDate) + dayMs);
          const text = `${name}: ${scheduleText(campaign)}, ${statusLabels[status].toLowerCase()}`;
          return (
            <div key={id} class="schedule-row">
              <a
                class={`schedule-bar schedule-${status}${endDate === null ? ' schedule-open' : ''}`}
                href={pathTo('campaign', { id })}
                title={text}
                aria-label={text}
                style={{ left: percent(left), right: percent(1 - right) }}
              >
                <span class="one-line" dir="auto">
                  {name}
                </span>
              </a>
            </div>
          );
        })}
        <span class="schedule-today" aria-hidden="true" style={{ left: percent(place(todayMs)) }}>
          <span>Today</span>
        </span>
      </div>
    </div>
  );
}
