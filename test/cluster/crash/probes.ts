/** Asks every node at once where a code leads, when a change of it was answered. */
import { type CodeEntry, refererOf } from '../../crash/ledger.ts';
import { addressOf, agentOf } from '../../crash/scanners.ts';
import type { ServiceNode } from './node.ts';
import { within } from './writers.ts';

/** A frozen node answers when it continues: such a scan counts as one without an answer. */
const answerMsMax = 1_000;

/** @returns how many answered */
export async function probe(nodes: readonly ServiceNode[], code: CodeEntry): Promise<number> {
  const up = nodes.filter(({ isUp, isPaused }) => isUp && !isPaused);
  const answered = await Promise.all(up.map((node) => probeOne(node, code)));
  return answered.filter(Boolean).length;
}

async function probeOne({ view, phone }: ServiceNode, code: CodeEntry): Promise<boolean> {
  const { platform, text } = agentOf(view.scans);
  const scan = view.send(code, platform, view.scans);
  const headers = {
    'x-forwarded-for': addressOf(scan.visitor),
    'user-agent': text,
    referer: refererOf(scan.number),
  };
  const answer = await within(answerMsMax, phone.call('GET', code.path, { headers }));
  if (typeof answer === 'string') return false;
  view.receive(scan, answer.status, answer.headers['location'] ?? '');
  return true;
}
