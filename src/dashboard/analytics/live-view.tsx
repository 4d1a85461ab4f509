/**
 * The last scans as they happen: code, city, country, device and age. While paused, the list does not change and new
 * scans are counted. Screen readers announce the number of new scans at most twice a minute.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { idTimeMs } from '../../model/ids.ts';
import { plural } from '../client/format.ts';
import type { LiveState } from '../client/live.ts';
import type { ServiceEvent } from '../client/wire.ts';
import { Button } from '../parts/button.tsx';
import { EventText } from '../parts/event-text.tsx';
import { Icon } from '../parts/icon.tsx';
import { Empty } from '../parts/notice.tsx';
import { Time } from '../parts/time.tsx';

interface LiveProps {
  readonly state: LiveState;
  /** `qr.scanned`, newest first; undefined while the first are loaded. */
  readonly scans: readonly ServiceEvent[] | undefined;
}

export const liveRowsMax = 20;
const stateTexts: Readonly<Record<LiveState, string>> = {
  connecting: 'Connecting…',
  live: 'Live',
  polling: 'Updates every few seconds',
};

export function LiveView({ state, scans }: LiveProps) {
  const [held, setHeld] = useState<readonly ServiceEvent[] | undefined>();
  const isPaused = held !== undefined;
  const shown = (held ?? scans)?.slice(0, liveRowsMax);
  const fresh = isPaused ? newerThan(held[0], scans ?? []) : 0;
  const isOn = state === 'live' && !isPaused;
  return (
    <div class="live">
      <p class="live-head">
        <span class="soft">
          <span class={`live-dot${isOn ? ' live-on' : ''}`} aria-hidden="true" />
          {isPaused ? `Paused, ${plural(fresh, 'new scan')}` : stateTexts[state]}
        </span>
        <Button
          size="small"
          disabled={scans === undefined}
          onClick={() => setHeld(isPaused ? undefined : scans)}
        >
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      </p>
      <Announcement scans={scans ?? []} />
      {shown?.length === 0 && <Empty icon="scan" title="No scans yet" />}
      <ol class={`feed live-rows${shown?.length === 0 ? ' live-empty' : ''}`}>
        {shown?.map((scan) => (
          <li key={scan.id} class="feed-row">
            <span class="feed-icon feed-scan">
              <Icon name="scan" size={16} />
            </span>
            <EventText event={scan} />
            <span class="soft feed-time">
              <Time iso={scan.createdAt ?? new Date(idTimeMs(scan.id)).toISOString()} />
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}

/** All rows, if the row at which it stopped has left the list. */
function newerThan(held: ServiceEvent | undefined, scans: readonly ServiceEvent[]): number {
  const at = scans.findIndex(({ id }) => id === held?.id);
  return at === -1 ? scans.length : at;
}

/** Time between two announcements. */
const announceMs = 30_000;

function Announcement({ scans }: { readonly scans: readonly ServiceEvent[] }) {
  const latest = useRef(scans);
  latest.current = scans;
  const [text, setText] = useState('');
  useEffect(() => {
    let [told] = latest.current;
    const timer = setInterval(() => {
      const count = newerThan(told, latest.current);
      [told] = latest.current;
      if (count > 0) setText(plural(count, 'new scan'));
    }, announceMs);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="unseen" role="status">
      {text}
    </span>
  );
}
