/** A person's name, e-mail address and shortcuts in a browser, with a mail server; and what a page of an invite asks for. */
import { afterAll, expect, test } from 'vitest';
import { startMailServer } from '../support/fakes/mail-server.ts';
import { faultsOn } from './accessibility.ts';
import { signIn, useOwnService } from './harness.ts';

const mail = await startMailServer();
afterAll(() => mail.close());
const harness = await useOwnService(mail.environment);

const linkIn = (source: string): string => {
  const text = source.replace(/=\r\n/g, '').replaceAll('=3D', '=');
  return /\/(?:settings\/confirm-email|accept-invite)\?token=[\w-]{43}/.exec(text)?.[0] ?? '';
};

test('a shortcut is two keys, no single key acts, and the profile turns them all off in this browser', async () => {
  const page = await harness.openSignedIn('/settings/profile');
  const heading = (name: string) => page.getByRole('heading', { level: 1, name });
  await page.getByLabel('Current password').pressSequentially('gc');
  await heading('Profile').focus();
  for (const key of ['n', 'o', 'a', 'c', '/', '?']) await page.keyboard.press(key);
  expect(await page.getByRole('dialog').count()).toBe(0);
  await heading('Profile').waitFor();
  await page.keyboard.type('gc');
  await heading('Codes').waitFor();
  await page.getByRole('link', { name: 'Profile' }).click();
  await page.getByLabel('Shortcuts').uncheck();
  await page.reload();
  expect(await page.getByLabel('Shortcuts').isChecked()).toBe(false);
  await page.keyboard.type('gcgh');
  await page.getByRole('button', { name: 'Shortcuts' }).click();
  await page.getByRole('dialog').getByText('They are off').waitFor();
  await page.getByRole('dialog').getByRole('link', { name: 'profile' }).click();
  await page.getByLabel('Shortcuts').check();
  await heading('Profile').focus();
  await page.keyboard.type('gh');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.close();
});

test('a name and an address are changed on the profile page, the address by the link of a mail', async () => {
  const page = await harness.openSignedIn('/settings/profile');
  const save = page.getByRole('button', { name: 'Save changes' });
  await page.getByLabel('Name').fill('Olive Owner');
  await save.click();
  await page.getByText('Profile saved.').waitFor();
  await page.locator('.account-name').first().getByText('Olive Owner').waitFor();
  await page.getByLabel('E-mail').fill('olive@example.com');
  await page.getByLabel('Your password').fill('wrong');
  await save.click();
  await page.getByText('The password is wrong').waitFor();
  await page.getByLabel('Your password').fill(harness.owner.password);
  await save.click();
  await page.getByText('Confirm olive@example.com').waitFor();
  await expect.poll(() => page.getByLabel('E-mail').inputValue()).toBe(harness.owner.email);
  const { to, source } = await mail.next();
  expect(to).toEqual(['olive@example.com']);
  // In a browser where nobody is signed in: the link waits behind the sign-in.
  const other = await harness.open();
  await signIn(other, linkIn(source), harness.owner);
  await other.getByRole('button', { name: 'Confirm the address' }).click();
  await other.getByText('sign in with olive@example.com').waitFor();
  expect((await mail.next()).to).toEqual([harness.owner.email]);
  await other.waitForURL(/\/settings\/profile$/);
  await expect.poll(() => other.getByLabel('E-mail').inputValue()).toBe('olive@example.com');
  await page.reload();
  await page.locator('.account-name').first().getByText('olive@example.com').waitFor();
  expect(await page.getByText('Confirm olive@example.com').count()).toBe(0);
  await other.context().close();
  await page.close();
});

test('the page of an invite asks for name and password, also where there may be an account', async () => {
  await harness.post('/team/invites', { email: 'new@example.com', role: 'viewer' });
  const { source } = await mail.next();
  const page = await harness.open();
  await page.goto(linkIn(source));
  const join = page.getByRole('button', { name: 'Join' });
  await page.getByLabel('Password').fill('password1');
  expect(await join.isDisabled()).toBe(true);
  await page.getByLabel('Name').fill('Nora');
  await join.click();
  await page.getByText('Attackers try this password among the first').waitFor();
  await page.getByLabel('Password').fill('a password of Nora');
  await join.click();
  await page.getByText('You have joined as viewer').waitFor();
  await page.close();
});

test('the numbers by mail are asked for in the profile', async () => {
  const page = await harness.openSignedIn('/settings/profile');
  await page.getByRole('radio', { name: 'Each month' }).check();
  await page.getByText('The next one comes').waitFor();
  expect(await faultsOn(page, 'profile')).toEqual([]);
  await page.reload();
  await expect.poll(() => page.getByRole('radio', { name: 'Each month' }).isChecked()).toBe(true);
  await page.getByRole('radio', { name: 'Never' }).check();
  await page.getByText('You get no more report e-mails.').waitFor();
});
