/** Shares as a list of bars with their numbers; the longest bar has the full width. */
import { formatNumber, formatPercent, formatShort } from '../client/format.ts';
import { Empty } from './notice.tsx';

export interface Share {
  readonly key: string;
  readonly label: string;
  readonly value: number;
  /** The label's link. */
  readonly href?: string;
}

interface BarsProps {
  readonly shares: readonly Share[];
  /** Sum of all shares, if `shares` are only the largest. */
  readonly total?: number;
  readonly emptyText?: string;
  readonly rowsMax?: number;
}

export function Bars(props: BarsProps) {
  const { shares, emptyText = 'No scans in this period', rowsMax = 10 } = props;
  const sum = shares.reduce((before, { value }) => before + value, 0);
  const total = Math.max(sum, props.total ?? 0);
  if (total === 0) return <Empty icon="scan" title={emptyText} />;
  const shown = shares.filter(({ value }) => value > 0).slice(0, rowsMax);
  const rest = total - shown.reduce((before, { value }) => before + value, 0);
  const others: Share = { key: '…rest', label: 'Other', value: rest };
  const rows = rest > 0 ? [...shown, others] : shown;
  const most = Math.max(...rows.map(({ value }) => value));
  return (
    <ul class="bars">
      {rows.map(({ key, label, value, href }) => (
        <li key={key} class="bar-row">
          <span class="bar-label" title={label} dir="auto">
            {href === undefined ? (
              label
            ) : (
              <a class="row-title one-line" href={href}>
                {label}
              </a>
            )}
          </span>
          <span class="bar-track" aria-hidden="true">
            <span class="bar-fill" style={{ width: `${(value / most) * 100}%` }} />
          </span>
          <span class="bar-value" title={formatNumber(value)}>
            {formatShort(value)}
          </span>
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

/** 24 columns, one per hour. */
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
