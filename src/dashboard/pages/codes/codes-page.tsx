/** All codes: search, filters and page number are in the address, which can be shared. */
import { useResource } from '../../client/resource.ts';
import { currentQuery } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import type { Page as PageOf, QrCodeItem } from '../../client/wire.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { Pager } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Page, Ready, Skeleton } from '../../parts/page.tsx';
import { pathTo } from '../../paths.ts';
import { CodeFilters } from './code-filters.tsx';
import { CodesTable } from './codes-table.tsx';

const limit = 25;
const filterNames = [
  'search',
  'type',
  'dynamic',
  'status',
  'tag',
  'campaign',
  'from',
  'to',
] as const;

export function CodesPage() {
  const query = currentQuery.value;
  const page = Math.max(1, Number(query.get('page') ?? 1) || 1);
  const filters = new URLSearchParams();
  for (const name of filterNames) {
    const value = query.get(name);
    if (value !== null && value !== '') filters.set(name, value);
  }
  const asked = new URLSearchParams([...filters, ['page', String(page)], ['limit', String(limit)]]);
  const codes = useResource<PageOf<QrCodeItem>>(`/qr-codes?${asked}`);
  return (
    <Page title="Codes" actions={<Actions filters={filters} />}>
      <CodeFilters query={query} />
      <Ready of={codes} skeleton={<TableSkeleton />}>
        {({ data, total }) =>
          data.length === 0 ? (
            <NoCodes isFiltered={filters.size > 0} />
          ) : (
            <>
              <CodesTable codes={data} />
              <Pager page={page} limit={limit} total={total} />
            </>
          )
        }
      </Ready>
    </Page>
  );
}

function Actions({ filters }: { readonly filters: URLSearchParams }) {
  return (
    <>
      <ExportButton
        path={`/qr-codes?${filters}`}
        fileName="codes.csv"
        label="Export"
        size="medium"
      />
      {may('editor') && (
        <>
          <ButtonLink icon="upload" href={pathTo('importCodes')}>
            Import
          </ButtonLink>
          <ButtonLink tone="accent" icon="plus" href={pathTo('newCode')}>
            New code
          </ButtonLink>
        </>
      )}
    </>
  );
}

function NoCodes({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <div class="card">
        <Empty icon="search" title="No codes match these filters">
          <ButtonLink href={pathTo('codes')}>Clear filters</ButtonLink>
        </Empty>
      </div>
    );
  }
  return (
    <div class="card">
      <Empty icon="code" title="No codes yet">
        <p>Print a code once and change where it leads at any time.</p>
        {may('editor') && (
          <ButtonLink tone="accent" icon="plus" href={pathTo('newCode')}>
            Create your first code
          </ButtonLink>
        )}
      </Empty>
    </div>
  );
}

const skeletonRows = 10;
function TableSkeleton() {
  return (
    <div class="card card-flush">
      <Skeleton rows={skeletonRows} />
    </div>
  );
}
