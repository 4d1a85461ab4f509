/** A moment in the user's time zone, with UTC on hover. */
import { signal } from '@preact/signals';
import { now } from '../client/browser-clock.ts';
import { formatMoment, formatRelative, formatSecond, formatUtc } from '../client/format.ts';

const tickMs = 20_000;
/** Updated so that `2 min. ago` stays true. */
const nowMs = signal(now());
setInterval(() => {
  nowMs.value = now();
}, tickMs);

interface TimeProps {
  readonly iso: string;
  /** `exact` = to the second. */
  readonly style?: 'relative' | 'full' | 'exact';
}

export function Time({ iso, style = 'relative' }: TimeProps) {
  const text = textOf(iso, style);
  const title = style === 'relative' ? `${formatMoment(iso)}, ${formatUtc(iso)}` : formatUtc(iso);
  return (
    <time dateTime={iso} title={title}>
      {text}
    </time>
  );
}

function textOf(iso: string, style: TimeProps['style']): string {
  if (style === 'full') return formatMoment(iso);
  if (style === 'exact') return formatSecond(iso);
  return formatRelative(iso, Math.max(nowMs.value, now()));
}
