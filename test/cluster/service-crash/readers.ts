/** Who reads codes through the API of any node: no answer may be older than what a writer was answered before. */
import type { CodeEntry } from '../../crash/ledger.ts';
import { targetNumber } from '../../crash/ledger.ts';
import type { Random } from '../../crash/random.ts';
import type { Answer, Client } from '../../support/client.ts';
import { pause } from '../../support/process.ts';
import type { ClusterLedger } from './cluster-ledger.ts';
import type { ServiceNode } from './node.ts';
import type { Pace } from './pace.ts';
import { within } from './writers.ts';

export interface ReadersOptions {
  readonly nodes: readonly ServiceNode[];
  readonly ledger: ClusterLedger;
  readonly random: Random;
  readonly pace: Pace;
  readonly apiKey: string;
}

const readers = 2;
const betweenMs = 900;
const answerMsMax = 4_000;

export class Readers {
  readonly #options: ReadersOptions;
  readonly #clients = new Map<ServiceNode, Client>();
  #isOn = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: ReadersOptions) {
    this.#options = options;
    for (const node of options.nodes) this.#clients.set(node, node.client(options.apiKey));
  }

  start(): void {
    this.#isOn = true;
    this.#ended = Promise.all(Array.from({ length: readers }, () => this.#read()));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#ended;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  async #read(): Promise<void> {
    const { nodes, ledger, random, pace } = this.#options;
    while (this.#isOn) {
      await pause(betweenMs);
      const up = nodes.filter(({ isUp, role }) => isUp && role === 'all');
      const codes = ledger.codes.filter(({ id }) => id !== undefined);
      if (up.length === 0 || codes.length === 0) continue;
      await pace.wait();
      const code = random.pick(codes);
      const node = random.pick(up);
      const wasDeleted = code.state === 'deleted';
      const atLeast = code.targetAcknowledged;
      const call = this.#clients.get(node)!.call('GET', `/v1/qr-codes/${code.id}`);
      const answer = await within(answerMsMax, call);
      if (typeof answer === 'string' || answer.status === 503 || answer.status === 429) continue;
      pace.count();
      if (answer.headers['x-quietzone-stale'] !== undefined) continue;
      ledger.reads++;
      this.#check(node, code, { wasDeleted, atLeast }, answer);
    }
  }

  #check(
    node: ServiceNode,
    code: CodeEntry,
    { wasDeleted, atLeast }: { readonly wasDeleted: boolean; readonly atLeast: number },
    { status, text }: Answer,
  ): void {
    const at = `${node.name}: a read of ${code.path} (${code.state})`;
    const isGone = code.state === 'deleting' || code.state === 'deleted';
    const { ledger } = this.#options;
    if (status === 404 && isGone) return;
    if (status !== 200) {
      ledger.note(`${at} was answered ${status}: ${text.slice(0, 200)}`);
      return;
    }
    const found: { target: string } = JSON.parse(text);
    const target = targetNumber(code, found.target) ?? -1;
    if (wasDeleted || target < atLeast || target > code.targetSent) {
      ledger.note(`${at} was answered ${found.target}, expected ${atLeast} to ${code.targetSent}`);
    }
  }
}
