/**
 * Shares as a list of bars with their numbers. The full name is above its bar; the longest bar has the full width.
 * `Other` is a sum that may dwarf the rest, so it has numbers but no bar.
 */
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
  /** Sum of all shares; `shares` are the largest. */
  readonly total: number;
  readonly emptyText: string;
}

export function Bars({ shares, emptyText, ...props }: BarsProps) {
  const sum = shares.reduce((before, { value }) => before + value, 0);
  const total = Math.max(sum, props.total);
  if (total === 0) return <Empty icon="scan" title={emptyText} />;
  const shown = shares.filter(({ value }) => value > 0);
  const most = Math.max(...shown.map(({ value }) => value));
  return (
    <ul class="bars">
      {shown.map((share) => (
        <BarRow key={share.key} share={share} most={most} total={total} />
      ))}
      {sum < total && (
        <li class="bar-row bar-other">
          <span class="bar-label">Other</span>
          <Numbers value={total - sum} total={total} />
        </li>
      )}
    </ul>
  );
}

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
