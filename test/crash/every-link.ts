/** Every short link asked once, when nothing changes any more: each leads where its last acknowledged write says.
 * A bot asks, which rules and splits do not lead. */
import { Client } from '../support/client.ts';
import { botAgent, type Ledger, targetOf } from './ledger.ts';

export async function askEveryLink(ledger: Ledger, port: number): Promise<void> {
  const links = new Client(`http://127.0.0.1:${port}`);
  for (const code of ledger.codes) {
    const { status, headers } = await links.call('HEAD', code.path, {
      headers: { 'user-agent': botAgent },
    });
    const found = status === 302 ? String(headers['location']) : String(status);
    const wanted = code.state === 'live' ? targetOf(code, code.targetAcknowledged) : '410';
    if (found !== wanted) ledger.note(`${code.path} leads to ${found}, expected ${wanted}`);
  }
  await links.close();
}
