/**
 * Clients of the API, at any node. Writers create, change and delete codes, each its own. A write that gets no answer, or
 * 503, is sent again at another node until it is answered; a create under its one Idempotency-Key, so that it makes one
 * code. A write that was refused as not active was not done: a code that is gone when its deletion is sent again is then a
 * fault. Readers get no answer that is older than an answered write.
 *
 * A change that got no answer may still pass through a frozen node and be done late: such a code is not changed again,
 * and the late change changes nothing.
 */
import type { CodeEntry } from '../../crash/ledger.ts';
import { leadingTo, refererOf, targetNumber } from '../../crash/ledger.ts';
import type { Random } from '../../crash/random.ts';
import { addressOf, agentOf } from '../../crash/scanners.ts';
import { type Answer, type Client, word } from '../../support/client.ts';
import { pause } from '../../support/process.ts';
import type { Beats } from './beats.ts';
import type { ClusterLedger } from './cluster-ledger.ts';
import type { ServiceNode } from './node.ts';

export interface ClientsOptions {
  readonly nodes: readonly ServiceNode[];
  readonly ledger: ClusterLedger;
  readonly beats: Beats;
  readonly random: Random;
  readonly apiKey: string;
}

interface Change {
  readonly kind: 'target';
  readonly code: CodeEntry;
  readonly target: number;
}
type Write = Change | { readonly kind: 'create' | 'delete'; readonly code: CodeEntry };

const expectedStatus: Readonly<Record<Write['kind'], number>> = {
  create: 201,
  target: 200,
  delete: 200,
};

/** What a node that knows of the write shows (node-view.ts). */
const stageOf = (write: Write): number =>
  write.kind === 'target' ? write.target : write.kind === 'create' ? 0 : Infinity;

/** Each waits for its answer. */
const writers = 4;
const readers = 2;
const codesOfEach = 5;
const shares = { create: 0.15, delete: 0.1, target: 0.75 };
/** All together send fewer than the 600 requests a minute of the plan. */
const betweenMs = { writes: 550, reads: 1_000 };
/** So that not even a long outage uses up the requests of a minute. */
const againMs = { from: 150, to: 450 };
/** Longer than a leader waits for nodes that are behind, and shorter than most freezes. */
const answerMsMax = 4_000;

/** A frozen node answers when it continues: such a scan counts as one without an answer. */
const probeMsMax = 1_000;

export class Clients {
  readonly #options: ClientsOptions;
  /** Codes whose last change may be done once more. */
  readonly #frozen = new Set<CodeEntry>();
  #isOn = false;
  #ended: Promise<unknown> = Promise.resolve();

  constructor(options: ClientsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#isOn = true;
    this.#ended = Promise.all([
      ...Array.from({ length: writers }, () => this.#write()),
      ...Array.from({ length: readers }, () => this.#read()),
    ]);
  }

  /** Resolves when every request is answered. @returns false if some are not within `msMax` */
  async stop(msMax: number): Promise<boolean> {
    this.#isOn = false;
    const ended = await Promise.race([this.#ended.then(() => true), pause(msMax)]);
    return ended === true;
  }

  async #write(): Promise<void> {
    const own: CodeEntry[] = [];
    while (this.#isOn) {
      const write = this.#draw(own);
      await this.#settle(write);
      await pause(own.length < codesOfEach ? 0 : betweenMs.writes);
    }
  }

  #draw(own: CodeEntry[]): Write {
    const { random, ledger } = this.#options;
    const live = own.filter((code) => code.state === 'live' && !this.#frozen.has(code));
    const draw = random.next();
    if (live.length < codesOfEach || draw < shares.create) {
      const code = ledger.addCode();
      own.push(code);
      return { kind: 'create', code };
    }
    const code = random.pick(live);
    if (draw < shares.create + shares.delete) {
      code.state = 'deleting';
      return { kind: 'delete', code };
    }
    return { kind: 'target', code, target: ++code.targetSent };
  }

  /** Resolves when it is answered. */
  async #settle(write: Write): Promise<void> {
    const { nodes, ledger, random } = this.#options;
    let isUnknown = false;
    let firstMs: number | undefined;
    for (;;) {
      const sentMs = performance.now();
      firstMs ??= sentMs;
      const node = this.#pick();
      const answer = node && (await this.#send(node, write));
      if (node === undefined || answer === undefined || isRefusal(answer)) {
        await pause(random.between(againMs.from, againMs.to));
      } else if (typeof answer === 'string' || answer.status === 503) {
        isUnknown = true;
        await pause(random.between(againMs.from, againMs.to));
      } else {
        const isDone = this.#answered(node, write, answer, isUnknown);
        if (isDone) ledger.written(firstMs, sentMs);
        if (isUnknown && write.kind === 'target') this.#frozen.add(write.code);
        if (isDone) await probe(nodes, write.code);
        return;
      }
    }
  }

  async #read(): Promise<void> {
    const { ledger, random, apiKey } = this.#options;
    while (this.#isOn) {
      await pause(betweenMs.reads);
      const node = this.#pick();
      const codes = ledger.codes.filter(({ id }) => id !== undefined);
      if (node === undefined || codes.length === 0) continue;
      const code = random.pick(codes);
      const wasDeleted = code.state === 'deleted';
      const atLeast = code.targetAcknowledged;
      const call = node.api(apiKey).call('GET', `/v1/qr-codes/${code.id}`);
      const answer = await within(answerMsMax, call);
      if (typeof answer === 'string' || answer.status === 503 || answer.status === 429) continue;
      if (answer.headers['x-quietzone-stale'] !== undefined) continue;
      ledger.reads++;
      const fault = faultOfRead(code, wasDeleted ? Infinity : atLeast, answer);
      if (fault !== undefined) ledger.note(`${node.name}: ${fault}`);
    }
  }

  #pick(): ServiceNode | undefined {
    const up = this.#options.nodes.filter(({ isUp, role }) => isUp && role === 'all');
    return up.length === 0 ? undefined : this.#options.random.pick(up);
  }

  /** @returns the answer, or what broke it */
  async #send(node: ServiceNode, write: Write): Promise<Answer | string> {
    const { ledger, apiKey } = this.#options;
    const given = await within(answerMsMax, callOf(write, node.api(apiKey)));
    ledger.outcome(outcomeOf(given));
    return given;
  }

  /** @returns whether it is done */
  #answered(node: ServiceNode, write: Write, answer: Answer, wasUnknown: boolean): boolean {
    const { code } = write;
    // It was deleted by a request that got no answer: this one promises nothing about links.
    const isGone = write.kind === 'delete' && wasUnknown && answer.status === 404;
    if (answer.status !== expectedStatus[write.kind] && !isGone) {
      const what = `${node.name}: ${write.kind} of ${code.path} (${code.state}) was answered ${answer.status}`;
      this.#options.ledger.note(`${what}: ${answer.text.slice(0, 200)}`);
      return false;
    }
    if (write.kind === 'create') this.#created(write, answer);
    if (write.kind === 'target') this.#changed(write, answer);
    if (write.kind === 'delete') code.state = 'deleted';
    if (!isGone) this.#known(code, stageOf(write), answer);
    return true;
  }

  #created({ code }: Write, answer: Answer): void {
    code.id = resourceOf(answer).id;
    code.state = 'live';
  }

  #changed({ code, target }: Change, answer: Answer): void {
    const found = targetNumber(code, resourceOf(answer).target);
    if (found !== target) this.#options.ledger.note(`${code.path} was answered target ${found}`);
    code.targetAcknowledged = target;
    code.changes.push(target);
  }

  /** Nodes that are connected know it from now on. */
  #known(code: CodeEntry, stage: number, { headers }: Answer): void {
    const { nodes, beats, ledger } = this.#options;
    if (headers['x-links-behind'] !== undefined) {
      ledger.linksBehind++;
      return;
    }
    for (const { name, view } of nodes) {
      if (!beats.isConnected(name)) continue;
      view.raise(code, stage);
      ledger.promised++;
    }
  }
}

/** @param atLeast the number of the target that it must show, or a later one; Infinity: it must be gone */
function faultOfRead(code: CodeEntry, atLeast: number, answer: Answer): string | undefined {
  const { status, text } = answer;
  const at = `a read of ${code.path} (${code.state}) was answered`;
  const mayBeGone = code.state === 'deleting' || code.state === 'deleted';
  if (status === 404 && mayBeGone) return undefined;
  if (status !== 200) return `${at} ${status}: ${text.slice(0, 200)}`;
  const target = targetNumber(code, resourceOf(answer).target) ?? -1;
  if (target >= atLeast && target <= code.targetSent) return undefined;
  return `${at} ${resourceOf(answer).target}, expected ${atLeast} to ${code.targetSent}`;
}

function callOf(write: Write, client: Client): Promise<Answer> {
  const { code } = write;
  if (write.kind === 'delete') return client.call('DELETE', `/v1/qr-codes/${code.id}`);
  if (write.kind === 'target') {
    const body = leadingTo(code, write.target);
    return client.call('PATCH', `/v1/qr-codes/${code.id}`, { body });
  }
  return client.call('POST', '/v1/qr-codes', {
    body: { ...leadingTo(code, 0), slug: code.path.slice(1), name: code.path },
    headers: { 'idempotency-key': `create-${code.number}` },
  });
}

const outcomeOf = (given: Answer | string): string => {
  if (typeof given === 'string') return given;
  return given.status === 503 ? `503 ${word(given.json['code'])}` : String(given.status);
};

/** It says that nothing was changed. Whatever else is no answer may have been done, or be done yet. */
const isRefusal = (given: Answer | string): boolean =>
  ['ECONNREFUSED', '429', '503 not_active'].includes(outcomeOf(given));

/** The answer, or what broke it in one word. */
async function within(msMax: number, call: Promise<Answer>): Promise<Answer | string> {
  const timer = Promise.withResolvers<string>();
  const timeout = setTimeout(() => timer.resolve('no answer'), msMax);
  try {
    return await Promise.race([call, timer.promise]);
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  } finally {
    clearTimeout(timeout);
  }
}

const resourceOf = ({ text }: Answer): { id: string; target: string } => JSON.parse(text);

/** Asks every node at once where a code leads, when a change of it was answered. */
async function probe(nodes: readonly ServiceNode[], code: CodeEntry): Promise<void> {
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
  const answer = await within(probeMsMax, phone.call('GET', code.path, { headers }));
  if (typeof answer === 'string') return;
  view.receive(scan, answer.status, answer.headers['location'] ?? '');
}
