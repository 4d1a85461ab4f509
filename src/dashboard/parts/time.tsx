/** A moment in the user's time zone, with UTC on hover. */
import { signal } from '@preact/signals';
import { now } from '../client/browser-clock.ts';
import { formatMoment, formatRelative, formatUtc } from '../client/format.ts';

const tickMs = 20_000;
/** Updated so that `2 min. ago` stays true. */
const nowMs = signal(now());
setInterval(() => {
  nowMs.value = now();
}, tickMs);

interface TimeProps {
  readonly iso: string;
  readonly style?: 'relative' | 'full';
}

export function Time({ iso, style = 'relative' }: TimeProps) {
  const text =
    style === 'full' ? formatMoment(iso) : formatRelative(iso, Math.max(nowMs.value, now()));
  const title = style === 'full' ? formatUtc(iso) : `${formatMoment(iso)}, ${formatUtc(iso)}`;
  return (
    <time dateTime={iso} title={title}>
      {text}
    </time>
  );
}
