/** A code's single scans, newest first, and an export of all scans. */
import { useEffect, useState } from 'preact/hooks';
import { capitalize, countryName } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { useRetry } from '../../client/use-retry.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { Empty, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';

interface Scan {
  readonly id: string;
  readonly scannedAt: string;
  readonly country: string;
  readonly city: string;
  readonly device: string;
  readonly os: string;
  readonly referer: string | null;
}

interface ScanPage {
  readonly data: readonly Scan[];
  readonly nextCursor?: string;
}

const limit = 50;

export function ScansPart({ code }: { readonly code: QrCode }) {
  const [scans, setScans] = useState<readonly Scan[]>();
  const [cursor, setCursor] = useState<string>();
  const [problem, setProblem] = useState<Problem>();
  const [isBusy, setBusy] = useState(false);
  const read = async (from: string | undefined): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    const more = from === undefined ? '' : `&cursor=${encodeURIComponent(from)}`;
    try {
      const page = await call<ScanPage>('GET', `/qr-codes/${code.id}/scans?limit=${limit}${more}`);
      setScans((before) => [...(from === undefined ? [] : (before ?? [])), ...page.data]);
      setCursor(page.nextCursor);
    } catch (error) {
      setProblem(problemOf(error));
    }
    setBusy(false);
  };
  useEffect(() => void read(undefined), []);
  useRetry(problem, () => void read(cursor));
  const actions = (
    <>
      <Button size="small" icon="refresh" isBusy={isBusy} onClick={() => void read(undefined)}>
        Refresh
      </Button>
      <ExportButton path={`/qr-codes/${code.id}/scans`} fileName="scans.csv" label="Export CSV" />
    </>
  );
  return (
    <Card
      class="card-flush"
      title="Scans"
      lead="IP addresses and user agents are deleted after a scan is counted"
      actions={actions}
    >
      {problem && <ProblemNotice problem={problem} onRetry={() => void read(cursor)} />}
      {scans === undefined && problem === undefined && <Skeleton rows={6} />}
      {scans?.length === 0 && <Empty icon="scan" title="No scans yet" />}
      {scans !== undefined && scans.length > 0 && <ScanTable scans={scans} />}
      {cursor !== undefined && (
        <div class="table-foot">
          <Button isBusy={isBusy} onClick={() => void read(cursor)}>
            Load more
          </Button>
        </div>
      )}
    </Card>
  );
}

function ScanTable({ scans }: { readonly scans: readonly Scan[] }) {
  return (
    <Table
      caption="Scans, newest first"
      columns={['Time', 'Location', 'Device', { wide: 'Referrer' }]}
    >
      {scans.map(({ id, scannedAt, country, city, device, os, referer }) => (
        <tr key={id}>
          <td>
            <Time iso={scannedAt} style="full" />
          </td>
          <td>{[city, countryName(country)].filter((text) => text !== '').join(', ')}</td>
          <td>
            {capitalize(device)}, {os}
          </td>
          <td class="hide-narrow soft">{referer ?? 'Direct'}</td>
        </tr>
      ))}
    </Table>
  );
}
