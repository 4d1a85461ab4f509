/** The analytics of the workspace, and a live view of its scans, which loads when opened. */
import { useState } from 'preact/hooks';
import { LiveView, liveRowsMax } from '../../analytics/live-view.tsx';
import { workspaceSubject } from '../../analytics/state/requests.ts';
import { Explore } from '../../analytics/view/explore.tsx';
import { useView } from '../../analytics/view/use-analytics.ts';
import { useLiveCount } from '../../client/live-count.ts';
import { useLive } from '../../client/live.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentQuery, setQuery } from '../../client/router.ts';
import type { EventPage, ServiceEvent } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { Attribution } from '../code/analytics-part.tsx';

export function AnalyticsPage() {
  const view = useView({ subject: workspaceSubject });
  const isLive = currentQuery.value.get('live') === '1';
  return (
    <Page
      title="Analytics"
      actions={
        <Button
          icon="scan"
          isPressed={isLive}
          onClick={() => setQuery({ live: isLive ? undefined : '1' })}
        >
          Live
        </Button>
      }
    >
      {isLive && <LiveScans />}
      <Explore view={view} />
      <Attribution />
    </Page>
  );
}

/** Time from a scan to the reload of the numbers, about six requests. */
const settleMs = 20_000;

function LiveScans() {
  const past = useResource<EventPage>(`/events?type=qr.scanned&limit=${liveRowsMax}`);
  const [scans, setScans] = useState<readonly ServiceEvent[]>([]);
  const counted = useLiveCount(settleMs, async () => invalidate('/analytics/'));
  const state = useLive((event) => {
    if (event.event !== 'qr.scanned') return;
    setScans((before) => [event, ...before].slice(0, liveRowsMax));
    counted.add();
  }, '/v1/events/stream?event=qr.scanned');
  const { data, problem, reload } = past;
  const seen = new Set(scans.map(({ id }) => id));
  const before = data?.data.filter(({ id }) => !seen.has(id)) ?? [];
  const isLoading = data === undefined && problem === undefined;
  return (
    <Card title="Live">
      {problem !== undefined && <ProblemNotice problem={problem} onRetry={() => void reload()} />}
      <LiveView state={state} scans={isLoading ? undefined : [...scans, ...before]} />
    </Card>
  );
}
