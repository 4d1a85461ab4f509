/**
 * A scan on its way to a screen, through the real service: the live stream has it, the summary counts
 * it, the raw scans list it; and a stop ends the stream with words.
 */
import { expect, it } from 'vitest';
import { Client, word } from '../support/client.ts';
import { pause, withDataFolder } from '../support/process.ts';
import { TestService } from '../support/test-service.ts';

/** A window of 120 ms and a commit, usually; on a busy machine seconds. */
const receivedMsMax = 30_000;
const agent =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';

it('a scan is streamed, counted and listed', { timeout: 180_000 }, async () => {
  await withDataFolder(async (dataDir) => {
    const service = await TestService.start({ dataDir });
    const client = new Client(service.apiUrl, service.apiKey);
    const body = { target: 'https://example.com/live' };
    const { json } = await client.call('POST', '/v1/qr-codes', { body });
    const response = await fetch(`${service.apiUrl}/v1/events/stream`, {
      headers: { authorization: `Bearer ${service.apiKey}` },
    });
    let received = '';
    const reading = (async () => {
      for await (const piece of response.body ?? []) received += Buffer.from(piece).toString();
    })();
    const until = async (text: string): Promise<number> => {
      const startedMs = performance.now();
      while (!received.includes(text)) {
        if (performance.now() - startedMs > receivedMsMax)
          throw new Error(`No ${text} in: ${received}`);
        await pause(1);
      }
      return performance.now() - startedMs;
    };
    await until('retry:');
    const links = new Client(service.redirectUrl);
    const { pathname } = new URL(word(json.shortUrl));
    const waits: number[] = [];
    for (let scan = 0; scan < 5; scan++) {
      received = '';
      const headers = { 'user-agent': agent };
      const answer = await links.call('GET', pathname, { headers });
      expect(answer.status).toBe(302);
      waits.push(await until(`"qrId":"${word(json.id)}"`));
    }
    process.stdout.write(`received after ${waits.map((ms) => ms.toFixed(0)).join(', ')} ms\n`);
    // Open, it would be waited for at the stop.
    await links.close();
    const summary = await client.call('GET', '/v1/analytics/summary');
    expect(summary.json).toMatchObject({
      totalScans: 5,
      uniqueScanners: 1,
      topCodes: [{ id: json.id, scans: 5 }],
    });
    const listed = await client.call('GET', `/v1/qr-codes/${word(json.id)}/scans`);
    expect(listed.items).toHaveLength(5);
    const closed = service.close();
    await reading;
    expect(received).toContain(': the service stops');
    await client.close();
    await closed;
  });
});
