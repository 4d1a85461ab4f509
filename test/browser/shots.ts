/**
 * Pictures of every page, light and dark, on a phone and on a wide screen: `node test/browser/shots.ts FOLDER`.
 * For people to look at; nothing is compared.
 */
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { addresses } from './addresses.ts';
import { openOwnService, sharedBrowser } from './harness.ts';
import { calmCluster, troubledCluster, withCluster } from './sample-cluster.ts';
import { type Seeded, seed } from './seed.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [folder = 'test/browser/shots', only] = positionals;
/** Charts and images appear after the text. */
const settleMs = 700;

async function show(page: Page, name: string): Promise<void> {
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** Dialogs and menus. */
async function showDialogs(page: Page, { codeId }: Seeded, suffix: string): Promise<void> {
  if (only !== undefined && !/dialog/.test(only)) return;
  const over: ReadonlyArray<readonly [path: string, button: string]> = [
    [`/codes/${codeId}`, 'Change destination'],
    [`/codes/${codeId}`, 'Delete this code'],
    [`/codes/${codeId}`, 'Change campaigns'],
    [`/codes/${codeId}`, 'Download'],
    ['/settings/api-keys', 'New key'],
    ['/settings/webhooks', 'New endpoint'],
  ];
  for (const [path, button] of over) {
    await page.goto(path);
    await page.getByRole('button', { name: button }).click();
    await page.waitForTimeout(settleMs);
    const name = button.toLowerCase().replaceAll(' ', '-');
    await page.screenshot({ path: join(folder, `dialog-${name}-${suffix}.png`) });
  }
}

/** Of a service that has none: as a leader would tell of it. */
async function showCluster(page: Page, suffix: string): Promise<void> {
  if (only !== undefined && !/cluster/.test(only)) return;
  for (const [name, shown] of Object.entries({ calmCluster, troubledCluster })) {
    await page.unrouteAll();
    await withCluster(page, () => shown);
    await page.goto('/settings/cluster');
    await page.getByText('leads, in epoch').waitFor();
    await show(page, `${name}-${suffix}`);
  }
  await page.getByRole('button', { name: 'Let another core lead' }).click();
  await page.waitForTimeout(settleMs);
  await page.screenshot({ path: join(folder, `dialog-handover-${suffix}.png`) });
}

const receiver = createServer((_request, response) => response.writeHead(500).end('no'));
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
const address = receiver.address();
const port = typeof address === 'object' && address !== null ? address.port : 0;
await mkdir(folder, { recursive: true });
const harness = await openOwnService();
try {
  const welcome = await harness.openSignedIn('/');
  await welcome.getByText('Create your first code').waitFor();
  await show(welcome, 'welcome');
  const seeded = await seed(harness, `http://127.0.0.1:${port}`);
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [390, 1_440]) {
      const signIn = await harness.open({ scheme, width });
      await signIn.goto('/sign-in');
      await signIn.getByLabel('Password').waitFor();
      await show(signIn, `sign-in-${scheme}-${width}`);
      await signIn.goto(`/accept-invite?token=${seeded.inviteToken}`);
      await signIn.getByLabel('Password').waitFor();
      await show(signIn, `invite-${scheme}-${width}`);
      await signIn.goto('/accept-invite?token=x');
      await signIn.getByText('This link does not work').waitFor();
      await show(signIn, `invite-dead-${scheme}-${width}`);
      await signIn.context().close();
      const page = await harness.openSignedIn('/settings/data', { scheme, width });
      for (const [name, path, , shows] of addresses(seeded)) {
        if (only !== undefined && !new RegExp(only).test(name)) continue;
        await page.goto(path);
        const text = page.getByText(shows).first();
        await text.waitFor({ state: 'attached', timeout: 8_000 }).catch(() => {
          process.stdout.write(`${name}: no ${String(shows)}\n`);
        });
        await show(page, `${name}-${scheme}-${width}`);
      }
      await showDialogs(page, seeded, `${scheme}-${width}`);
      await showCluster(page, `${scheme}-${width}`);
      await page.context().close();
    }
  }
} finally {
  process.stdout.write(`${harness.complaints.join('\n')}\n`);
  receiver.close();
  await harness.close();
  await (await sharedBrowser()).close();
}
