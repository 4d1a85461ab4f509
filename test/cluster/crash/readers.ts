/** Who reads codes through the API of any node: no answer may be older than what a writer was answered before. */
import type { CodeEntry } from '../../crash/ledger.ts';
import { targetNumber } from '../../crash/ledger.ts';
import type { Random } from '../../crash/random.ts';
import type { Answer } from '../../support/client.ts';
import { pause } from '../../support/process.ts';
import type { ClusterLedger } from './cluster-ledger.ts';
import type { ServiceNode } from './node.ts';
import { within } from './writers.ts';

export interface ReadersOptions {
  readonly nodes: readonly ServiceNode[];
  readonly ledger: ClusterLedger;
  readonly random: Random;
  readonly apiKey: string;
}

const readers = 2;
const betweenMs = 1_000;
const answerMsMax = 4_000;

export class Readers {
  readonly #options: ReadersOptions;
  #isOn = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: ReadersOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isOn = true;
    this.#ended = Promise.all(Array.from({ length: readers }, () => this.#read()));
  }

  async stop(): Promise<void> {
    this.#isOn = false;
    await this.#ended;
  }

  async #read(): Promise<void> {
    const { nodes, ledger, random, apiKey } = this.#options;
    while (this.#isOn) {
      await pause(betweenMs);
      const up = nodes.filter(({ isUp, role }) => isUp && role === 'all');
      const codes = ledger.codes.filter(({ id }) => id !== undefined);
      if (up.length === 0 || codes.length === 0) continue;
      const code = random.pick(codes);
      const node = random.pick(up);
      const wasDeleted = code.state === 'deleted';
      const atLeast = code.targetAcknowledged;
      const call = node.api(apiKey).call('GET', `/v1/qr-codes/${code.id}`);
      const answer = await within(answerMsMax, call);
      if (typeof answer === 'string' || answer.status === 503 || answer.status === 429) continue;
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
