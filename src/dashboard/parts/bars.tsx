/**
 * Shares as a list of bars with their numbers. The name stands over its bar, so that it is read whole; the longest
 * bar has the full width. `Other` is a sum that may dwarf the rest: it has numbers and no bar.
 */
import { useState } from 'preact/hooks';
import { formatNumber, formatPercent, formatShort } from '../client/format.ts';
import { Button } from './button.tsx';
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
  /** Asks for the shares that are missing in `total`; then they come as `shares`. */
  readonly onWhole?: () => void;
}

/** Shown at first, and after a click. */
const rowsAtFirst = 10;
const rowsMax = 500;

export function Bars(props: BarsProps) {
  const { shares, emptyText = 'No scans in this period', onWhole } = props;
  const [isWhole, setWhole] = useState(false);
  const sum = shares.reduce((before, { value }) => before + value, 0);
  const total = Math.max(sum, props.total ?? 0);
  if (total === 0) return <Empty icon="scan" title={emptyText} />;
  const named = shares.filter(({ value }) => value > 0);
  const some = named.slice(0, rowsMax);
  const shown = isWhole ? some : some.slice(0, rowsAtFirst);
  const rest = total - shown.reduce((before, { value }) => before + value, 0);
  const most = Math.max(...shown.map(({ value }) => value));
  // How many there are is not known before they are here.
  const isPart = sum < total && onWhole !== undefined && !isWhole;
  const toggle = (): void => {
    if (isPart) onWhole();
    setWhole(!isWhole);
  };
  return (
    <>
      <ul class="bars">
        {shown.map((share) => (
          <BarRow key={share.key} share={share} most={most} total={total} />
        ))}
        {rest > 0 && (
          <li class="bar-row bar-other">
            <span class="bar-label">Other</span>
            <Numbers value={rest} total={total} />
          </li>
        )}
      </ul>
      {(some.length > rowsAtFirst || isPart) && (
        <p class="bars-more">
          <Button size="small" tone="quiet" onClick={toggle}>
            {isWhole ? 'Show fewer' : isPart ? 'Show all' : countText(named.length)}
          </Button>
        </p>
      )}
    </>
  );
}

const countText = (rows: number): string =>
  rows > rowsMax ? `Show the first ${formatNumber(rowsMax)}` : `Show all ${formatNumber(rows)}`;

interface RowProps {
  readonly share: Share;
  /** Value of the longest bar. */
  readonly most: number;
  readonly total: number;
}

function BarRow({ share: { label, value, href }, most, total }: RowProps) {
  return (
    <li class="bar-row">
      <span class="bar-label two-lines" title={label} dir="auto">
        {href === undefined ? (
          label
        ) : (
          <a class="row-title" href={href}>
            {label}
          </a>
        )}
      </span>
      <span class="bar-track" aria-hidden="true">
        <span class="bar-fill" style={{ width: `${(value / most) * 100}%` }} />
      </span>
      <Numbers value={value} total={total} />
    </li>
  );
}

function Numbers({ value, total }: { readonly value: number; readonly total: number }) {
  return (
    <>
      <span class="bar-value" title={formatNumber(value)}>
        {formatShort(value)}
      </span>
      <span class="bar-share">{formatPercent(value / total)}</span>
    </>
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
