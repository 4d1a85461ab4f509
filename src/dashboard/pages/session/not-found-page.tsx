/** No page at this address. */
import { ButtonLink } from '../../parts/button.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Page } from '../../parts/page.tsx';
import { pathTo } from '../../paths.ts';

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty icon="search" title="Page not found">
        <p>The address may be mistyped, or the page was deleted.</p>
        <ButtonLink href={pathTo('overview')} tone="accent">
          Go to the overview
        </ButtonLink>
      </Empty>
    </Page>
  );
}
