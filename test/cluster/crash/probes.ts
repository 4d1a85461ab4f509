/** Asks every node at once where a code leads, when a change of it was answered. */
import { type CodeEntry, refererOf } from '../../crash/ledger.ts';
import { addressOf, agentOf } from '../../crash/scanners.ts';
import type { ServiceNode } from './node.ts';
import { within } from './clients.ts';

/** A frozen node answers when it continues: such a scan counts as one without an answer. */
const answerMsMax = 1_000;

export async function probe(nodes: readonly ServiceNode[], code: CodeEntry): Promise<void> {
  const up = nodes.filter(({ isUp, isPaused }) => isUp && !isPaused);
  await Promise.all(up.map((node) => probeOne(node, code)));
}

async function probeOne({ view, phone }: ServiceNode, code: CodeEntry): Promise<void> {
  const { platform, text } = agentOf(view.scans);
  const scan = view.send(code, platform, view.scans);
  const headers = {
    'x-forwarded-for': addressOf(scan.visitor),
    'user-agent': text,
    referer: refererOf(scan.number),
  };
  const answer = await within(answerMsMax, phone.call('GET', code.path, { headers }));
  if (typeof answer === 'string') return;
  view.receive(scan, answer.status, answer.headers['location'] ?? '');
}
