/** Small parts of pages: pager, tabs, badges, facts. */
import type { ComponentChildren } from 'preact';
import { formatNumber } from '../client/format.ts';
import { setQuery } from '../client/router.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

interface PagerProps {
  readonly page: number;
  readonly limit: number;
  readonly total: number;
}

/** Keeps the page number in the address, so that links and the back button work. */
export function Pager({ page, limit, total }: PagerProps) {
  if (total <= limit && page === 1) return null;
  const pages = Math.max(1, Math.ceil(total / limit));
  const from = Math.min(total, (page - 1) * limit + 1);
  const to = Math.min(total, page * limit);
  const go = (to: number): void => {
    setQuery({ page: to === 1 ? undefined : String(to) });
    scrollTo({ top: 0 });
  };
  return (
    <nav class="pager" aria-label="Pages">
      <span class="pager-text">
        {formatNumber(from)}–{formatNumber(to)} of {formatNumber(total)}
      </span>
      <Button icon="left" label="Previous page" disabled={page <= 1} onClick={() => go(page - 1)} />
      <Button
        icon="right"
        label="Next page"
        disabled={page >= pages}
        onClick={() => go(page + 1)}
      />
    </nav>
  );
}

interface TabsProps<T extends string> {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly tabs: ReadonlyArray<{ readonly value: T; readonly label: string }>;
  /** `line` for the sections of a page, `pill` for the views of one section. */
  readonly variant?: 'line' | 'pill';
}

/** Chooses the content below. */
export function Tabs<T extends string>(props: TabsProps<T>) {
  const { label, value, onChange, tabs, variant = 'pill' } = props;
  return (
    <div class={`tabs tabs-${variant}`} role="group" aria-label={label}>
      {tabs.map((tab) => (
        <button
          key={tab.value}
          type="button"
          class="tab"
          aria-pressed={tab.value === value}
          onClick={() => onChange(tab.value)}
        >
          {tab.label}
        </button>
      ))}
    </div>
  );
}

export type BadgeTone = 'plain' | 'good' | 'warn' | 'bad' | 'accent';

export function Badge({
  tone = 'plain',
  children,
}: {
  readonly tone?: BadgeTone;
  readonly children: ComponentChildren;
}) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

interface ChipProps {
  readonly label: string;
  /** The cross's action, for screen readers. */
  readonly action: string;
  readonly onRemove: () => void;
}

/** A chosen value, with a cross that removes it. */
export function Chip({ label, action, onRemove }: ChipProps) {
  return (
    <span class="chip">
      <span class="one-line" dir="auto" title={label}>
        {label}
      </span>
      <button type="button" aria-label={action} onClick={onRemove}>
        <Icon name="close" size={14} />
      </button>
    </span>
  );
}

interface FactProps {
  readonly label: ComponentChildren;
  readonly children: ComponentChildren;
}

/** One row of a list of facts. */
export function Fact({ label, children }: FactProps) {
  return (
    <div class="fact">
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
