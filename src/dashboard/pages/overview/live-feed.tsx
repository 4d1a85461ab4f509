/** Recent events, newest first, with new ones as they happen. */
import type { LiveState } from '../../client/live.ts';
import type { Resource } from '../../client/resource.ts';
import type { ServiceEvent } from '../../client/wire.ts';
import { idTimeMs } from '../../../model/ids.ts';
import { eventIcons, EventText } from '../../parts/event-text.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';

export const feedRowsMax = 10;

interface FeedProps {
  readonly state: LiveState;
  /** The events before the page was opened. */
  readonly past: Resource<unknown>;
  /** Undefined while they load. */
  readonly events: readonly ServiceEvent[] | undefined;
  /** Ids of events that arrived while the page was open. */
  readonly fresh: ReadonlySet<string>;
}

const stateTexts: Readonly<Record<LiveState, string>> = {
  connecting: 'Connecting…',
  live: 'Live',
  polling: 'Updates every few seconds',
};

export function LiveFeed({ state, past, events, fresh }: FeedProps) {
  const { problem, reload } = past;
  const dot = (
    <span class="soft">
      <span class={`live-dot${state === 'live' ? ' live-on' : ''}`} aria-hidden="true" />
      {stateTexts[state]}
    </span>
  );
  return (
    <Card title="Activity" actions={dot}>
      {problem !== undefined && <ProblemNotice problem={problem} onRetry={() => void reload()} />}
      {events === undefined && problem === undefined && <Skeleton lines={feedRowsMax} />}
      {events?.length === 0 && problem === undefined && (
        <Empty icon="scan" title="No activity yet" />
      )}
      <ol class="feed">
        {events?.map((event) => (
          <li key={event.id} class={`feed-row${fresh.has(event.id) ? ' feed-new' : ''}`}>
            <span class={`feed-icon${event.event === 'qr.scanned' ? ' feed-scan' : ''}`}>
              <Icon name={eventIcons[event.event]} size={16} />
            </span>
            <EventText event={event} />
            <span class="soft feed-time">
              <Time iso={timeOf(event)} />
            </span>
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** The time in the event, or in its id. */
function timeOf({ id, createdAt }: ServiceEvent): string {
  return createdAt ?? new Date(idTimeMs(id)).toISOString();
}
