/**
 * Pictures of every page, light and dark, on a phone and on a wide screen: `node test/browser/shots.ts FOLDER [NAMES]`.
 * For people to look at; nothing is compared.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { openReceiver } from '../support/fakes/receiver.ts';
import { addresses } from './addresses.ts';
import { openOwnService, sharedBrowser } from './harness.ts';
import { calmCluster, troubledCluster, withCluster } from './sample-cluster.ts';
import { seed } from './seed.ts';

const { positionals } = parseArgs({ allowPositionals: true });
const [folder = 'test/browser/shots', names = ''] = positionals;
/** Charts and images appear after the text. */
const settleMs = 700;

/** @param shows what is waited for @param button opens a dialog or a menu, and is part of the name */
async function show(
  page: Page,
  name: string,
  path: string,
  shows: string | RegExp,
  button?: string,
): Promise<void> {
  if (!new RegExp(names).test(name)) return;
  await page.goto(path);
  const text = page.getByText(shows).first();
  await text.waitFor({ state: 'attached', timeout: 8_000 }).catch(() => {
    process.stdout.write(`${name}: no ${String(shows)}\n`);
  });
  if (button !== undefined) await page.getByRole('button', { name: button }).click();
  await page.waitForTimeout(settleMs);
  const { width } = page.viewportSize() ?? {};
  const scheme = await page.evaluate('document.documentElement.dataset.theme');
  const file = `${[name, button?.toLowerCase().replaceAll(' ', '-'), scheme, width].filter(Boolean).join('-')}.png`;
  await page.screenshot({ path: join(folder, file), fullPage: button === undefined });
}

const receiver = await openReceiver({ kind: 'answer', status: 500 });
await mkdir(folder, { recursive: true });
const harness = await openOwnService();
try {
  await show(await harness.openSignedIn(), 'welcome', '/', 'Create your first code');
  const seeded = await seed(harness, receiver.origin);
  const code = `/codes/${seeded.codeId}`;
  for (const scheme of ['light', 'dark'] as const) {
    for (const width of [390, 1_440]) {
      const guest = await harness.open({ scheme, width });
      await show(guest, 'sign-in', '/sign-in', 'Password');
      await show(guest, 'invite', `/accept-invite?token=${seeded.inviteToken}`, 'Password');
      await show(guest, 'invite-dead', '/accept-invite?token=x', 'This link does not work');
      await guest.context().close();
      const page = await harness.openSignedIn('/settings/data', { scheme, width });
      for (const [name, path, , shows] of addresses(seeded)) await show(page, name, path, shows);
      for (const button of [
        'Change destination',
        'Delete this code',
        'Change campaigns',
        'Download',
      ]) {
        await show(page, 'dialog', code, 'Table 12', button);
      }
      await show(page, 'dialog', '/settings/api-keys', 'Till', 'New key');
      await show(page, 'dialog', '/settings/webhooks', '/hooks', 'New endpoint');
      // Of a service that has none: as a leader would tell of it.
      const cluster = ['/settings/cluster', 'leads, in epoch'] as const;
      await withCluster(page, () => calmCluster);
      await show(page, 'cluster-calm', ...cluster);
      await withCluster(page, () => troubledCluster);
      await show(page, 'cluster-troubled', ...cluster);
      await show(page, 'dialog-cluster', ...cluster, 'Hand over the lead');
      await page.context().close();
    }
  }
} finally {
  process.stdout.write(`${harness.complaints.join('\n')}\n`);
  await harness.close();
  await receiver.close();
  await (await sharedBrowser()).close();
}
