/** The parts of the analytics in a real browser, with made-up numbers: loading, empty, on a phone, dark and on paper. */
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { faultsOn, faultsOnScreens, hiddenOf } from '../accessibility.ts';
import { cardOn, useGallery } from './gallery.ts';

const gallery = await useGallery();
const page = await gallery.open();

/** Of the first chart: how many have the accent of the light theme, #0f6b5c. */
const accentPixels = `(() => {
  const canvas = document.querySelector('.chart canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return new Uint32Array(data.buffer).filter((word) => word === 0xff5c6b0f).length;
})()`;

test('what loads and what is empty has no faults of accessibility; rows that load keep the place of those that come', async () => {
  const other = await gallery.open({ width: 390, state: 'empty' });
  expect(await faultsOn(other, 'empty')).toEqual([]);
  await other.setViewportSize({ width: 1_440, height: 900 });
  await other.emulateMedia({ colorScheme: 'dark' });
  await other.goto(other.url().replace('empty', 'loading'));
  await other.getByRole('heading', { level: 1 }).waitFor();
  expect(await faultsOn(other, 'loading', 'main')).toEqual([]);
  const placesOn = async (on: Page) => {
    const card = cardOn(on, 'Fixed');
    const boxes = [card, card.locator('.bar-list'), card.locator('.bar-list-foot')];
    const [top, ...parts] = await Promise.all(boxes.map((box) => box.boundingBox()));
    return parts.map((part) => [(part?.y ?? 0) - (top?.y ?? 0), part?.height]);
  };
  expect(await placesOn(other)).toEqual(await placesOn(page));
  // Now all of it comes but the map.
  await other.route(/countries-110m/, (route) => route.abort());
  await other.goto(other.url().replace('loading', ''));
  const card = cardOn(other, 'Countries');
  await card.getByText('Cannot load the map').waitFor();
  await card.getByRole('row', { name: /^Germany/ }).waitFor();
  await other.context().close();
});

test('on two screens no faults of accessibility; paper is light, without what is clicked, with its colors and whole lists', async () => {
  await page.evaluate(`for (const more of document.querySelectorAll('details')) more.open = true`);
  const france = cardOn(page, 'Countries').getByRole('button', { name: 'France' }).last();
  await france.click();
  expect(await faultsOnScreens(page, 'parts')).toEqual([]);
  await france.click();
  await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
  await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('light');
  for (const unseen of ['.side', '.bar-list-foot', '.live-head .button']) {
    expect(await page.locator(unseen).first().isVisible()).toBe(false);
  }
  const cell = `getComputedStyle(document.querySelector('.heat-cell.step-5'))`;
  const colors = `[${cell}.backgroundColor, ${cell}.printColorAdjust].join()`;
  await expect.poll(() => page.evaluate(colors)).toBe('rgb(6, 68, 58),exact');
  // The chart is drawn again, in the colors of paper.
  await expect.poll(() => page.evaluate(accentPixels)).toBeGreaterThan(50);
  expect(await hiddenOf(page.locator('.world-table'))).toEqual([0, 0]);
  await page.emulateMedia({ media: 'screen' });
  await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark');
});
