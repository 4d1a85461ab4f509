/** Shares as bars: a list that says its numbers in text, the longest bar as wide as there is room. */
import { formatNumber, formatPercent } from '../client/format.ts';
import { Empty } from './notice.tsx';

export interface Share {
  readonly key: string;
  readonly label: string;
  readonly value: number;
}

interface BarsProps {
  readonly shares: readonly Share[];
  readonly emptyText?: string;
  readonly rowsMax?: number;
}

export function Bars({ shares, emptyText = 'No scans in this time', rowsMax = 10 }: BarsProps) {
  const total = shares.reduce((sum, { value }) => sum + value, 0);
  if (total === 0) return <Empty icon="scan" title={emptyText} />;
  const shown = shares.filter(({ value }) => value > 0).slice(0, rowsMax);
  const rest = total - shown.reduce((sum, { value }) => sum + value, 0);
  const rows = rest > 0 ? [...shown, { key: '…rest', label: 'All others', value: rest }] : shown;
  const most = Math.max(...rows.map(({ value }) => value));
  return (
    <ul class="bars">
      {rows.map(({ key, label, value }) => (
        <li key={key} class="bar-row">
          <span class="bar-label" title={label}>
            {label}
          </span>
          <span class="bar-track" aria-hidden="true">
            <span class="bar-fill" style={{ width: `${(value / most) * 100}%` }} />
          </span>
          <span class="bar-value">{formatNumber(value)}</span>
          <span class="bar-share">{formatPercent(value / total)}</span>
        </li>
      ))}
    </ul>
  );
}

interface HoursProps {
  /** Scans by hour of the UTC day. */
  readonly hours: ReadonlyMap<number, number>;
}

const hoursOfDay = Array.from({ length: 24 }, (_, hour) => hour);

/** 24 columns, one an hour. */
export function Hours({ hours }: HoursProps) {
  const most = Math.max(1, ...hours.values());
  return (
    <ol class="hours" aria-label="Scans by hour of the day, UTC">
      {hoursOfDay.map((hour) => {
        const scans = hours.get(hour) ?? 0;
        const text = `${String(hour).padStart(2, '0')}:00 UTC: ${formatNumber(scans)}`;
        return (
          <li key={hour} title={text}>
            <span class="unseen">{text}</span>
            <span class="hour-track" aria-hidden="true">
              <span class="hour-fill" style={{ height: `${(scans / most) * 100}%` }} />
            </span>
            <span class="hour-label" aria-hidden="true">
              {hour % 6 === 0 ? String(hour).padStart(2, '0') : ''}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
