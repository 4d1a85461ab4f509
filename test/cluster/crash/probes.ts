/** Asks every node at once where a code leads, each on a connection of its own, when a change of it was answered. */
import { botAgent, type CodeEntry, type Kind, refererOf, type Scan } from '../../crash/ledger.ts';
import { addressOf, agentOf } from '../../crash/scanners.ts';
import type { ServiceNode } from './node.ts';
import { within } from './writers.ts';

/** A node that is frozen answers when it goes on. */
const answerMsMax = 1_000;

export class Probes {
  readonly #nodes: readonly ServiceNode[];
  answered = 0;

  constructor(nodes: readonly ServiceNode[]) {
    this.#nodes = nodes;
  }

  async ask(code: CodeEntry): Promise<void> {
    const up = this.#nodes.filter(({ isUp, isPaused }) => isUp && !isPaused);
    await Promise.all(up.map((node) => this.#askAt(node, code)));
  }

  async #askAt(node: ServiceNode, code: CodeEntry): Promise<void> {
    const visitor = node.view.scans;
    const kind: Kind = agentOf(visitor).platform;
    const scan = node.view.send(code, kind, visitor);
    const call = node.phone.call('GET', code.path, { headers: headersOf(scan) });
    // An answer that comes later is not looked at: the scan counts as one without an answer.
    const answer = await within(answerMsMax, call);
    if (typeof answer === 'string') return;
    this.answered++;
    node.view.receive(scan, answer.status, answer.headers['location'] ?? '');
  }
}

const headersOf = ({ number, kind, visitor }: Scan): Record<string, string> => ({
  'x-forwarded-for': addressOf(visitor),
  'user-agent': kind === 'bot' ? botAgent : agentOf(visitor).text,
  referer: refererOf(number),
});
