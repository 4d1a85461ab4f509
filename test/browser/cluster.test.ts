/** The page of the cluster: not on a machine alone, what it shows, that it follows, and the lead that is handed over. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { faultsOn, faultsOnScreens } from './accessibility.ts';
import { openHarness, type Harness } from './harness.ts';
import { calmCluster, troubledCluster, withCluster } from './sample-cluster.ts';

const testMs = 90_000;
const path = '/settings/cluster';

let harness: Harness;

beforeAll(async () => {
  harness = await openHarness();
}, testMs);
afterAll(() => harness.close());

test(
  'a machine alone shows nothing of a cluster',
  async () => {
    const page = await harness.openSignedIn(path);
    await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
    await page.getByRole('link', { name: 'Data' }).waitFor();
    expect(await page.getByRole('link', { name: 'Cluster' }).count()).toBe(0);
    await page.close();
  },
  testMs,
);

test(
  'nodes with their state; what changes appears by itself, and what is wrong says what to do',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    let shown = calmCluster;
    await withCluster(page, () => shown);
    await page.reload();
    await page.getByRole('link', { name: 'Cluster' }).click();
    await page.getByText('fra-1 leads, in epoch 4.').waitFor();
    await page.getByText('Nothing needs you.').waitFor();
    const rowOf = (name: string) =>
      page.getByRole('row', { name: new RegExp(`^${name} `) }).innerText();
    expect(await faultsOnScreens(page, 'calm')).toEqual([]);
    expect(await rowOf('fra-2')).toMatch(/Connected\s+Up to date\s+At two cores\s+0\.2\.0/);
    shown = troubledCluster;
    await page.getByText('edge-of-the-north-hall is away').waitFor();
    await page.getByText('quietzone cluster leave edge-of-the-north-hall').waitFor();
    await page.getByText('fra-1, edge-berlin run 0.2.0; fra-2 runs 0.1.0.').waitFor();
    expect(await faultsOnScreens(page, 'troubled')).toEqual([]);
    expect(await page.getByText('Nothing needs you.').count()).toBe(0);
    expect(await rowOf('fra-2')).toMatch(/1 link change, 12,345 batches of scans/);
    expect(await rowOf('edge-berlin')).toMatch(/3 link changes\s+Not at two cores/);
    expect(await rowOf('edge-of-the-north-hall')).toMatch(/Away\s+Unknown/);
    // A leader that changes is not to be found for a moment: what is known stays, and it is asked again.
    await page.route(/\/v1\/cluster$/, (route) =>
      route.fulfill({
        status: 503,
        headers: { 'retry-after': '1' },
        json: { status: 503, code: 'not_active', detail: 'No machine is known to lead' },
      }),
    );
    await page.getByText('No machine is known to lead').waitFor();
    expect(await rowOf('fra-1')).toContain('Leads');
    await page.unroute(/\/v1\/cluster$/);
    await withCluster(page, () => calmCluster);
    await page.getByText('Nothing needs you.').waitFor();
    await page.close();
  },
  testMs,
);

test(
  'an owner lets another core lead; an admin cannot, and without another core nobody can',
  async () => {
    const page = await harness.openSignedIn('/settings/data');
    let shown = troubledCluster;
    await withCluster(page, () => shown);
    const asked: unknown[] = [];
    await page.route(/\/v1\/cluster\/handover$/, async (route) => {
      const body: unknown = route.request().postDataJSON();
      asked.push(body);
      const names = shown.nodes.map((node) => ({
        ...node,
        state: node.name === 'fra-2' ? ('active' as const) : ('connected' as const),
      }));
      shown = { ...shown, leader: 'fra-2', epoch: 6, nodes: names };
      await route.fulfill({ json: { leader: 'fra-2', ms: 80 } });
    });
    await page.goto(path);
    await page.getByRole('button', { name: 'Let another core lead' }).click();
    const dialog = page.getByRole('dialog', { name: 'Let another core lead?' });
    await dialog.getByText('redirects go on').waitFor();
    expect(await dialog.getByLabel('Who leads next').locator('option').allInnerTexts()).toEqual([
      'Any core that is connected',
      'fra-2',
      'fra-3',
    ]);
    expect(await faultsOn(page, 'dialog', 'dialog[open]')).toEqual([]);
    await dialog.getByLabel('Who leads next').selectOption('fra-2');
    await dialog.getByRole('button', { name: 'Hand over' }).click();
    await page.getByText('fra-2 leads now.').waitFor();
    await page.getByText('fra-2 leads, in epoch 6.').waitFor();
    expect(asked).toEqual([{ to: 'fra-2' }]);
    const [first, , third] = calmCluster.nodes;
    shown = { ...calmCluster, nodes: [first!, third!] };
    await page.goto(path);
    await page.getByText('fra-1 leads, in epoch 4.').waitFor();
    const button = page.getByRole('button', { name: 'Let another core lead' });
    expect(await button.isDisabled()).toBe(true);
    await page.unrouteAll();
    await withCluster(page, () => calmCluster, 'admin');
    await page.goto(path);
    await page.getByText('fra-1 leads, in epoch 4.').waitFor();
    expect(await button.count()).toBe(0);
    await page.close();
  },
  testMs,
);

test('the browser had nothing to complain of', () => {
  expect(harness.complaints).toEqual([]);
});
