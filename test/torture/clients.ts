/**
 * Clients of the API. Writers create, change and delete codes, each its own, one write at a time. A write that gets no
 * answer is sent again until it is answered, in a cluster at another node; a create under its one Idempotency-Key, so that
 * it makes one code. A write that was refused was not done: a code that is gone when its deletion is sent again is then a
 * fault. Readers get no answer that is older than an answered write.
 *
 * A change that got no answer may still pass through a frozen process and be done late: such a code is not changed again,
 * and the late change changes nothing.
 */
import { type Answer, type Client, word } from '../support/client.ts';
import { pause } from '../support/process.ts';
import type { Random } from './random.ts';
import { type CodeEntry, type Ledger, leadingTo, targetNumber } from './ledger.ts';
import type { View } from './view.ts';

/** A way to the API. */
type Door = { readonly name: string; readonly client: Client };

export interface ClientsOptions {
  readonly ledger: Ledger;
  readonly random: Random;
  /** Every node: an answered write is promised to those that are connected. */
  readonly views: readonly View[];
  /** Where the next request goes; undefined: nowhere now. */
  readonly pick: () => Door | undefined;
  readonly writers: number;
  readonly readers: number;
  readonly codesOfEach: number;
  readonly betweenMs: { readonly writes: number; readonly reads: number };
  readonly againMs: { readonly from: number; readonly to: number };
  /** A request without an answer for so long is sent again. */
  readonly answerMsMax: number;
  /** 503 and 429 are no faults: the write is sent again. */
  readonly mayRefuse: boolean;
  /** Makes codes with a scan limit, one after the other. */
  readonly hasLimits: boolean;
  readonly onWritten?: (code: CodeEntry) => Promise<void>;
}

/** One machine: most of the load is scans. */
export const ofOneMachine = {
  writers: 1,
  readers: 1,
  codesOfEach: 12,
  betweenMs: { writes: 40, reads: 500 },
  againMs: { from: 10, to: 20 },
  // Longer than a takeover of which a process hangs: no request is given up.
  answerMsMax: 120_000,
  mayRefuse: false,
  hasLimits: false,
} as const;

interface Write {
  readonly kind: 'create' | 'target' | 'delete';
  readonly code: CodeEntry;
  /** What a node that knows of the write shows (view.ts): the number of its target, Infinity when it is deleted. */
  readonly stage: number;
}

const expectedStatus = { create: 201, target: 200, delete: 200 };
const shares = { create: 0.15, delete: 0.1 };
/** Of the writer's codes, the newest. */
const codesInPlay = 40;
const limits = { from: 20, to: 400 };
/** What undici and the kernel say when the other side dies. */
const brokenConnection =
  /^(UND_ERR_SOCKET|UND_ERR_DESTROYED|ECONNRESET|ECONNREFUSED|EPIPE|no answer)$/;

export class Clients {
  readonly #options: ClientsOptions;
  /** Codes whose last change may be done once more. */
  readonly #frozen = new Set<CodeEntry>();
  #isOn = true;
  #isAbandoned = false;
  readonly #ended: Promise<unknown>;
  /** What broke the first try that got no answer. */
  brokenBy: string | undefined;

  constructor(options: ClientsOptions) {
    this.#options = options;
    const { writers, readers } = options;
    this.#ended = Promise.all([
      ...Array.from({ length: writers }, () => this.#write()),
      ...Array.from({ length: readers }, () => this.#read()),
    ]);
  }

  /** Resolves when every request is answered; some that are not within `msMax` are a fault. */
  async stop(msMax: number): Promise<void> {
    this.#isOn = false;
    const ended = await Promise.race([this.#ended.then(() => true), pause(msMax)]);
    if (ended !== true) this.#options.ledger.note(`requests have no answer after ${msMax} ms`);
  }

  /** Resolves when no request is under way; one without an answer is not sent again. */
  async abandon(): Promise<void> {
    this.#isOn = false;
    this.#isAbandoned = true;
    await this.#ended;
  }

  async #write(): Promise<void> {
    const own: CodeEntry[] = [];
    while (this.#isOn) {
      await this.#settle(this.#draw(own));
      await pause(own.length < this.#options.codesOfEach ? 0 : this.#options.betweenMs.writes);
    }
  }

  #draw(own: CodeEntry[]): Write {
    const { random, ledger, codesOfEach, hasLimits } = this.#options;
    const live = own.filter((code) => code.state === 'live' && !this.#frozen.has(code));
    const draw = random.next();
    if (live.length >= codesOfEach && hasLimits && ledger.limited === undefined) {
      const code = ledger.addCode(random.between(limits.from, limits.to));
      return { kind: 'create', code, stage: 0 };
    }
    if (live.length < codesOfEach || draw < shares.create) {
      const code = ledger.addCode();
      own.push(code);
      return { kind: 'create', code, stage: 0 };
    }
    const code = random.pick(live.slice(-codesInPlay));
    if (draw >= shares.create + shares.delete) {
      return { kind: 'target', code, stage: ++code.targetSent };
    }
    code.state = 'deleting';
    return { kind: 'delete', code, stage: Infinity };
  }

  /** Resolves when it is answered. */
  async #settle(write: Write): Promise<void> {
    const { ledger, random, againMs, pick, onWritten } = this.#options;
    const firstMs = performance.now();
    let sentMs = firstMs;
    let isUnknown = false;
    for (; !this.#isAbandoned; sentMs = performance.now()) {
      const door = pick();
      const answer = door && (await this.#send(door, write));
      if (door === undefined || this.#isNone(answer)) {
        isUnknown ||= answer !== undefined && !isRefusal(answer);
        await pause(random.between(againMs.from, againMs.to));
        continue;
      }
      const isDone = this.#answered(door, write, answer, isUnknown);
      if (isDone) ledger.written(firstMs, sentMs);
      if (isUnknown && write.kind === 'target') this.#frozen.add(write.code);
      if (isDone) await onWritten?.(write.code);
      return;
    }
  }

  /** A request is sent again: it broke, or where it may be refused it was. */
  #isNone(answer: Answer | string | undefined): answer is string | undefined {
    if (answer === undefined || typeof answer === 'string') return true;
    return this.#options.mayRefuse && [429, 503].includes(answer.status);
  }

  async #read(): Promise<void> {
    const { ledger, random, pick, betweenMs, answerMsMax } = this.#options;
    while (this.#isOn) {
      await pause(betweenMs.reads);
      const door = pick();
      const codes = ledger.codes.filter(({ id }) => id !== undefined);
      if (door === undefined || codes.length === 0) continue;
      const code = random.pick(codes);
      const atLeast = code.state === 'deleted' ? Infinity : code.targetAcknowledged;
      const call = door.client.get(`/v1/qr-codes/${code.id}`);
      const answer = await within(answerMsMax, call);
      if (this.#isNone(answer) || answer.headers['x-quietzone-stale'] !== undefined) continue;
      ledger.reads++;
      const fault = faultOfRead(code, atLeast, answer);
      if (fault !== undefined) ledger.note(`${door.name}: ${fault}`);
    }
  }

  /** @returns the answer, or what broke it */
  async #send({ name, client }: Door, write: Write): Promise<Answer | string> {
    const { ledger, answerMsMax } = this.#options;
    const answer = await within(answerMsMax, callOf(write, client));
    const outcome = outcomeOf(answer);
    ledger.outcomes.set(outcome, (ledger.outcomes.get(outcome) ?? 0) + 1);
    const what = `${name}: ${write.kind} of ${write.code.path}`;
    if (typeof answer === 'string') {
      this.brokenBy ??= answer;
      if (!brokenConnection.test(answer)) ledger.note(`${what} broke with ${answer}`);
    } else if (answer.status === 503 && answer.headers['retry-after'] === undefined) {
      ledger.note(`${what} was answered ${outcome} without Retry-After`);
    }
    return answer;
  }

  /** @returns whether it is done */
  #answered(
    door: Door,
    { kind, code, stage }: Write,
    answer: Answer,
    wasUnknown: boolean,
  ): boolean {
    const { ledger } = this.#options;
    // It was deleted by a request that got no answer: this one promises nothing about links.
    const isGone = kind === 'delete' && wasUnknown && answer.status === 404;
    if (answer.status !== expectedStatus[kind] && !isGone) {
      const what = `${door.name}: ${kind} of ${code.path} (${code.state}) was answered`;
      ledger.note(`${what} ${answer.status}: ${answer.text.slice(0, 200)}`);
      if (kind === 'delete') code.state = 'live';
      return false;
    }
    if (kind === 'create') code.id = resourceOf(answer).id;
    if (kind === 'target') {
      const found = targetNumber(code, resourceOf(answer).target);
      if (found !== stage) ledger.note(`${code.path} was answered target ${found}`);
      code.targetAcknowledged = stage;
      code.changes.push(stage);
    } else {
      code.state = kind === 'create' ? 'live' : 'deleted';
    }
    if (!isGone) this.#promise(code, stage, answer);
    return true;
  }

  /** Nodes that are connected know it from now on. */
  #promise(code: CodeEntry, stage: number, { headers }: Answer): void {
    const { views, ledger } = this.#options;
    if (headers['x-links-behind'] !== undefined) ledger.linksBehind++;
    else ledger.promised += views.filter((view) => view.promise(code, stage)).length;
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

function callOf({ kind, code, stage }: Write, client: Client): Promise<Answer> {
  const path = `/v1/qr-codes/${code.id}`;
  if (kind === 'delete') return client.delete(path);
  const body = leadingTo(code, stage);
  if (kind === 'target') return client.patch(path, body);
  const { scanLimit } = code;
  const named = { slug: code.path.slice(1), name: code.path, ...(scanLimit && { scanLimit }) };
  const headers = { 'idempotency-key': `create-${code.number}` };
  return client.post('/v1/qr-codes', { ...body, ...named }, { headers });
}

const outcomeOf = (answer: Answer | string): string => {
  if (typeof answer === 'string') return answer;
  return answer.status === 503 ? `503 ${word(answer.json['code'])}` : String(answer.status);
};

/** It says that nothing was changed. Whatever else is no answer may have been done, or be done yet. */
const isRefusal = (answer: Answer | string): boolean =>
  ['ECONNREFUSED', '429', '503 not_active'].includes(outcomeOf(answer));

/** The answer, or what broke it in one word. */
export async function within(msMax: number, call: Promise<Answer>): Promise<Answer | string> {
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
