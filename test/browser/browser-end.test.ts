/** A browser that ends fails the tests of one file, which say how it ended; the next file has another. */
import { expect, it } from 'vitest';
import { openHarness, sharedBrowser, waitMs } from './harness.ts';

it(
  'a browser that is killed is named in failures, and started again',
  { timeout: waitMs * 4 },
  async () => {
    const harness = await openHarness();
    const session = await harness.browser.newBrowserCDPSession();
    await expect(session.send('Browser.crash')).rejects.toThrow('has been closed');
    const ended = /^The browser of this test file ended by SIG[A-Z]+;/;
    await expect(harness.open()).rejects.toThrow(ended);
    await expect(harness.close()).rejects.toThrow(ended);
    const another = await sharedBrowser();
    const page = await another.newPage();
    expect(await page.evaluate('1 + 1')).toBe(2);
    await page.close();
  },
);
