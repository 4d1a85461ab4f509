/** Shares the numbers of a code or campaign: links for people without an account, to copy and to revoke. */
import { useState } from 'preact/hooks';
import { type ReportRange, reportRanges } from '../../../model/reports/report.ts';
import { utcTime } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { useForm } from '../../client/use-form.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { CopyLine } from '../../parts/copy.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { DialogForm } from '../../parts/form.tsx';
import { Badge } from '../../parts/list.tsx';
import { Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';

interface Report {
  readonly id: string;
  readonly url: string | null;
  readonly qrCodeId: string | null;
  readonly campaignId: string | null;
  readonly title: string | null;
  readonly range: ReportRange;
  readonly status: 'active' | 'expired' | 'gone';
  readonly expiresAt: string | null;
  readonly createdAt: string;
}

/** The shared code or campaign. */
type Subject = { readonly qrCodeId: string } | { readonly campaignId: string };

interface SubjectProps {
  readonly of: Subject;
}

const rangeLabels: Readonly<Record<ReportRange, string>> = {
  '7d': 'The last 7 days',
  '30d': 'The last 30 days',
  '90d': 'The last 90 days',
  all: 'All days',
};
const ranges = reportRanges.map((value) => ({ value, label: rangeLabels[value] }));

export function ShareButton({ of }: SubjectProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon="share" onClick={() => setOpen(true)}>
        Share
      </Button>
      {isOpen && <Share of={of} onClose={() => setOpen(false)} />}
    </>
  );
}

interface ShareProps extends SubjectProps {
  readonly onClose: () => void;
}

function Share({ of, onClose }: ShareProps) {
  const [revoked, setRevoked] = useState<Report>();
  if (revoked !== undefined) {
    return <Revoke report={revoked} onClose={() => setRevoked(undefined)} />;
  }
  return (
    <Dialog title="Share these numbers" width="wide" clickBeside="closes" onClose={onClose}>
      <div class="stack">
        <p class="soft">
          Anyone with a link can see scans, countries, cities, devices and hours, without signing
          in. The page never shows the destination or anything else of this workspace.
        </p>
        <Links of={of} onRevoke={setRevoked} />
        <NewLink of={of} onClose={onClose} />
      </div>
    </Dialog>
  );
}

/** A workspace has at most 200 links: two pages. */
const pageLimit = 100;

interface LinksProps extends SubjectProps {
  readonly onRevoke: (report: Report) => void;
}

function Links({ of, onRevoke }: LinksProps) {
  const first = useResource<PageOf<Report>>(`/reports?limit=${pageLimit}`);
  const isMore = first.data?.nextCursor !== undefined;
  const second = useResource<PageOf<Report>>(
    isMore ? `/reports?limit=${pageLimit}&page=2` : undefined,
  );
  return (
    <Ready of={first} skeleton={<Skeleton lines={2} />}>
      {({ data }) => {
        const all = [...data, ...(second.data?.data ?? [])];
        const own = all.filter((report) => isOf(report, of));
        if (own.length === 0) return null;
        return (
          <ul class="share-links" aria-label="Links">
            {own.map((report) => (
              <Link key={report.id} report={report} onRevoke={onRevoke} />
            ))}
          </ul>
        );
      }}
    </Ready>
  );
}

const isOf = ({ qrCodeId, campaignId }: Report, of: Subject): boolean =>
  'qrCodeId' in of ? qrCodeId === of.qrCodeId : campaignId === of.campaignId;

interface LinkProps {
  readonly report: Report;
  readonly onRevoke: (report: Report) => void;
}

function Link({ report, onRevoke }: LinkProps) {
  const { url, title, range, status, expiresAt, createdAt } = report;
  return (
    <li class="share-link">
      {status === 'active' && url !== null ? (
        <CopyLine text={url} label="the link" />
      ) : (
        <p class="soft">
          {status === 'active' ? 'The link still works, but cannot be shown again.' : 'Ended'}
        </p>
      )}
      <div class="share-about">
        <span class="row-sub">
          {title !== null && (
            <>
              <b dir="auto">{title}</b>.{' '}
            </>
          )}
          {rangeLabels[range]}, created <Time iso={createdAt} />
          {expiresAt !== null && status === 'active' && (
            <>
              , works until <Time iso={expiresAt} style="full" />
            </>
          )}{' '}
          {status === 'expired' && <Badge>Expired</Badge>}
        </span>
        <Button size="small" icon="trash" onClick={() => onRevoke(report)}>
          {status === 'active' ? 'Revoke' : 'Remove'}
        </Button>
      </div>
    </li>
  );
}

function NewLink({ of, onClose }: ShareProps) {
  const [range, setRange] = useState<ReportRange>('30d');
  const form = useForm({ title: '', expiresAt: '' });
  const create = async (): Promise<void> => {
    const { title, expiresAt } = form.texts;
    const body = {
      ...of,
      range,
      ...(title.trim() === '' ? {} : { title: title.trim() }),
      ...(expiresAt === '' ? {} : { expiresAt: utcTime(expiresAt) }),
    };
    await call<Report>('POST', '/reports', { body });
    form.setTexts({ title: '', expiresAt: '' });
    invalidate('/reports');
    say('Link created.');
  };
  return (
    <DialogForm form={form} action="Create link" onSubmit={create} onClose={onClose}>
      <div class="form-row">
        <SelectField label="Days shown first" value={range} options={ranges} onChange={setRange} />
        <TextField
          label="Works until"
          isOptional
          type="datetime-local"
          {...form.field('expiresAt')}
        />
      </div>
      <TextField
        label="Title of the page"
        isOptional
        hint="Leave empty to use the name shown here"
        {...form.field('title')}
        lengthMax={120}
      />
    </DialogForm>
  );
}

function Revoke({ report, onClose }: { readonly report: Report; readonly onClose: () => void }) {
  const revoke = async (): Promise<void> => {
    await call('DELETE', `/reports/${report.id}`);
    invalidate('/reports');
    say(report.status === 'active' ? 'Link revoked.' : 'Link removed.');
  };
  return (
    <Confirm
      title={report.status === 'active' ? 'Revoke this link?' : 'Remove this link?'}
      action={report.status === 'active' ? 'Revoke' : 'Remove'}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>The link stops working at once. This cannot be undone.</p>
    </Confirm>
  );
}
