/** Settings that are more than a form: the pages that phones get from codes, and the cluster with its lead. */
import { expect, test } from 'vitest';
import { roundLogo } from '../product/images/sample-designs.ts';
import { faultsOn, faultsOnScreens } from './accessibility.ts';
import { refusal, useHarness } from './harness.ts';
import { calmCluster, troubledCluster, withCluster } from './sample-cluster.ts';

const harness = await useHarness();

test('a brand and a German text reach the phone, as the preview shows them', async () => {
  const { api, service } = harness;
  const past = await harness.makeCode();
  await api.delete(`/v1/qr-codes/${past.id}`);
  const page = await harness.openSignedIn('/settings/pages', { scheme: 'dark', width: 390 });
  const preview = page.frameLocator('iframe');
  await preview.getByRole('heading', { name: 'This code has expired' }).waitFor();
  await page.getByLabel('Name').fill('Old Town Bakery');
  await page.getByLabel('Contact').fill('javascript:alert(1)');
  await page.getByRole('button', { name: 'Choose a color' }).click();
  await page.getByLabel('Color, as #rrggbb').fill('#ffd400');
  await page.getByLabel('The code is').selectOption('Deleted');
  await page.getByLabel('Language').selectOption('German');
  await page.getByLabel('Heading').fill('Das war einmal');
  await page.getByLabel('Text').fill('Die Aktion ist vorbei. <b>Bis bald!</b>');
  await page.getByRole('button', { name: 'Save pages' }).click();
  await page.getByText('Expected an address with https:').first().waitFor();
  await page.getByLabel('Contact').fill('mailto:hello@bakery.example');
  await preview.getByRole('heading', { name: 'Das war einmal' }).waitFor();
  await preview.getByRole('link', { name: 'Kontakt aufnehmen' }).waitFor();
  const background = preview.locator('body');
  const color = async () =>
    await background.evaluate(
      (body) => body.ownerDocument.defaultView?.getComputedStyle(body).backgroundColor,
    );
  await expect.poll(color).toBe('rgb(246, 246, 243)');
  await page.getByRole('radio', { name: 'Dark' }).check();
  await expect.poll(color).toBe('rgb(19, 20, 22)');
  const logo = { name: 'logo.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(roundLogo) };
  await page.getByLabel('Logo').setInputFiles(logo);
  await preview.getByRole('img', { name: 'Old Town Bakery' }).waitFor();
  expect(await faultsOn(page, 'pages')).toEqual([]);
  await page.getByRole('button', { name: 'Save pages' }).click();
  await page.getByText('Pages saved.').waitFor();
  await page.reload();
  await page.getByLabel('The code is').selectOption('Deleted');
  await page.getByLabel('Language').selectOption('German · your text');
  expect(await page.getByLabel('Heading').inputValue()).toBe('Das war einmal');
  const path = new URL(past.shortUrl).pathname;
  const read = async () => {
    const headers = { 'accept-language': 'de-AT,de;q=0.9' };
    return await (await fetch(`${service.redirectUrl}${path}`, { headers })).text();
  };
  await expect.poll(read).toMatch(/alt="Old Town Bakery".*Das war einmal/);
  expect(await read()).toContain('&lt;b&gt;Bis bald!');
});

test('a machine alone shows nothing of a cluster', async () => {
  const page = await harness.openSignedIn('/settings/cluster');
  await page.getByRole('heading', { level: 1, name: 'Not found' }).waitFor();
  await page.getByRole('link', { name: 'Data' }).waitFor();
  expect(await page.getByRole('link', { name: 'Cluster' }).count()).toBe(0);
  await page.close();
});

test('nodes with their state; what changes appears by itself, and what is wrong says what to do', async () => {
  const page = await harness.openSignedIn();
  let shown = calmCluster;
  await withCluster(page, () => shown);
  await page.reload();
  await page.getByRole('link', { name: 'Cluster' }).click();
  await page.getByText('fra-1 leads, in epoch 4.').waitFor();
  await page.getByText('All nodes are connected.').waitFor();
  const rowOf = (name: string) =>
    page.getByRole('row', { name: new RegExp(`^${name} `) }).innerText();
  expect(await faultsOnScreens(page, 'calm')).toEqual([]);
  expect(await rowOf('fra-2')).toMatch(/Connected\s+Up to date\s+At two cores\s+0\.2\.0/);
  shown = troubledCluster;
  await page.getByText('edge-of-the-north-hall is away').waitFor();
  await page.getByText('quietzone cluster leave edge-of-the-north-hall').waitFor();
  await page.getByText('fra-1, edge-berlin run 0.2.0; fra-2 runs 0.1.0.').waitFor();
  expect(await faultsOnScreens(page, 'troubled')).toEqual([]);
  expect(await page.getByText('All nodes are connected.').count()).toBe(0);
  expect(await rowOf('fra-2')).toMatch(/1 link change, 12,345 batches of scans/);
  expect(await rowOf('edge-berlin')).toMatch(/3 link changes\s+Not at two cores/);
  expect(await rowOf('edge-of-the-north-hall')).toMatch(/Away\s+Unknown/);
  // A leader that changes is not to be found for a moment: what is known stays, and it is asked again.
  await page.route(/\/v1\/cluster$/, (route) =>
    route.fulfill(refusal(503, 'not_active', 'No machine is known to lead', 1)),
  );
  await page.getByText('No machine is known to lead').waitFor();
  expect(await rowOf('fra-1')).toContain('Leads');
  await page.unroute(/\/v1\/cluster$/);
  await withCluster(page, () => calmCluster);
  await page.getByText('All nodes are connected.').waitFor();
  await page.close();
});

test('an owner lets another core lead; an admin cannot, and without another core nobody can', async () => {
  const page = await harness.openSignedIn();
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
  await page.goto('/settings/cluster');
  await page.getByRole('button', { name: 'Hand over the lead' }).click();
  const dialog = page.getByRole('dialog', { name: 'Hand over the lead?' });
  await dialog.getByText('redirects go on').waitFor();
  expect(await dialog.getByLabel('Next leader').locator('option').allInnerTexts()).toEqual([
    'Any connected core',
    'fra-2',
    'fra-3',
  ]);
  expect(await faultsOn(page, 'dialog', 'dialog[open]')).toEqual([]);
  await dialog.getByLabel('Next leader').selectOption('fra-2');
  await dialog.getByRole('button', { name: 'Hand over' }).click();
  await page.getByText('fra-2 leads now.').waitFor();
  await page.getByText('fra-2 leads, in epoch 6.').waitFor();
  expect(asked).toEqual([{ to: 'fra-2' }]);
  const [first, , third] = calmCluster.nodes;
  shown = { ...calmCluster, nodes: [first!, third!] };
  await page.goto('/settings/cluster');
  await page.getByText('fra-1 leads, in epoch 4.').waitFor();
  const button = page.getByRole('button', { name: 'Hand over the lead' });
  expect(await button.isDisabled()).toBe(true);
  await page.unrouteAll();
  await withCluster(page, () => calmCluster, 'admin');
  await page.goto('/settings/cluster');
  await page.getByText('fra-1 leads, in epoch 4.').waitFor();
  expect(await button.count()).toBe(0);
  await page.close();
});
