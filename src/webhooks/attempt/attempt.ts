/**
 * One attempt: one POST of one body to one receiver, from the name lookup to the last byte read.
 *
 *   target ─ sign ─ addresses (checked) ─ connection ─ POST ─ status ─ answer ≤ 16 KB ─ record
 *   |<------------------------------ one deadline, 15 s ------------------------------>|
 *
 * - It never throws: every outcome is an `AttemptRecord`. A 2xx without a failure class is a success.
 * - A name without an address and a name with a denied one take the same time, in steps of 250 ms: an endpoint's owner
 *   must not learn from the duration which names exist in the operator's network.
 * - Redirects are not followed, because the new address is not checked. No compression is accepted, so no answer grows.
 * - A receiver may close a kept-alive connection during a write. If no byte of an answer arrived, the POST is repeated
 *   once on a fresh connection: receivers recognize the event's id, and a retry would wait 5 s for an ordinary race.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../model/clock.ts';
import type {
  AttemptRecord,
  AttemptSettings,
  AttemptTask,
  FailureClass,
} from '../../model/webhook.ts';
import type { TargetAnswer, TargetRequest } from '../../model/watches/watch.ts';
import { type Connection, Connections } from './connections.ts';
import { AddressGuard, Egress, Refusal, type Target } from './egress.ts';
import type { NameLookup } from './name-lookup.ts';
import { signHeaders } from './signature.ts';

/** Bytes of an answer that are read, and that are stored. */
const answerBytesMax = 16_384;
const textBytesMax = 4_096;
/** Interim answers (1xx) before the answer; more would only occupy the thread. */
const interimMax = 16;
const standardConnectionsMax = 1_000;
/** Longer than a near or cached answer of a name server. */
const nameStepMs = 250;
/** Idle connections close after this: before the 5 s after which common servers close theirs. */
const idleMs = 4_000;
/** Upper bound for `Retry-After`, far above the retry schedule. */
const retryAfterMsMax = 365 * 86_400_000;
/** The three forms of RFC 9110, section 5.6.7; `Date.parse` alone accepts many other texts. */
const httpDate = /^[A-Z][a-z]{2,8},? [\w :-]{16,24}(?: GMT)?$/;

interface Shared {
  readonly clock: Clock;
  readonly egress: Egress;
  readonly connections: Connections;
  readonly timeoutMs: number;
  readonly userAgent: string;
  readonly checkAgent: string;
}

interface Sending {
  readonly url: string;
  readonly method: 'POST' | 'HEAD' | 'GET';
  readonly body: Uint8Array | null;
  /** Name, value, name, value: with an object undici takes 2 µs more. */
  readonly headers: (atMs: number) => string[];
  readonly isStatusEnough: boolean;
}

export class Attempts {
  readonly #shared: Shared;

  constructor({
    settings,
    clock,
    names,
  }: {
    readonly settings: AttemptSettings;
    readonly clock: Clock;
    readonly names: NameLookup;
  }) {
    const { allowNetworks, connectionsMax = standardConnectionsMax, timeoutMs, docsUrl } = settings;
    const guard = new AddressGuard(allowNetworks);
    this.#shared = {
      clock,
      egress: new Egress(guard, names),
      connections: new Connections(guard, connectionsMax, idleMs),
      timeoutMs,
      userAgent: `Quietzone-Webhooks/1 (+${docsUrl})`,
      checkAgent: `Quietzone-Check/1 (+${docsUrl})`,
    };
  }

  get connections(): number {
    return this.#shared.connections.all.size;
  }

  /** Never rejects. */
  send(task: AttemptTask): Promise<AttemptRecord> {
    const { url } = task;
    const body = Buffer.from(task.body);
    const headers = (atMs: number): string[] =>
      postHeaders(task, body, atMs, this.#shared.userAgent);
    return this.#run({ url, method: 'POST', body, headers, isStatusEnough: false });
  }

  /** Requests the status of a code's target, without its body. Never rejects. */
  async check({ method, url }: TargetRequest): Promise<TargetAnswer> {
    const headers = (): string[] => ['User-Agent', this.#shared.checkAgent, 'Accept', '*/*'];
    const sending = { url, method, body: null, headers, isStatusEnough: true };
    const { status, failure } = await this.#run(sending);
    return status === undefined ? { failure: failure ?? 'unknown' } : { status };
  }

  #run(sending: Sending): Promise<AttemptRecord> {
    return new Promise((resolve) => new AttemptRun(this.#shared, sending, resolve).start());
  }

  close(): void {
    this.#shared.connections.close();
  }
}

/** An attempt in flight. undici and the deadline report to it; it ends once. */
class AttemptRun implements Dispatcher.DispatchHandler {
  readonly #shared: Shared;
  readonly #sending: Sending;
  readonly #resolve: (record: AttemptRecord) => void;
  readonly #atMs: number;
  readonly #startedMs: number;
  readonly #deadline: NodeJS.Timeout;
  #request: Dispatcher.DispatchOptions | undefined;
  #connection: Connection | undefined;
  #isEnded = false;
  #isSecondTry = false;
  #interim = 0;
  #status: number | undefined;
  #retryAfterMs: number | undefined;
  #answerBytes = 0;
  /** The beginning of the answer, one character per byte. */
  #answer = '';

  constructor(shared: Shared, sending: Sending, resolve: (record: AttemptRecord) => void) {
    this.#shared = shared;
    this.#sending = sending;
    this.#resolve = resolve;
    this.#atMs = shared.clock.now();
    this.#startedMs = shared.clock.monotonicMs();
    this.#deadline = setTimeout(endAtDeadline, shared.timeoutMs, this);
  }

  start(): void {
    const { egress } = this.#shared;
    const { url, method, body, headers } = this.#sending;
    try {
      const target = egress.target(url);
      this.#request = { path: target.path, method, headers: headers(this.#atMs), body };
      const addresses = egress.addresses(target);
      if (addresses instanceof Promise) void this.#postWhenFound(target, addresses);
      else this.#post(target, addresses);
    } catch (error) {
      this.fail(classOf(error));
    }
  }

  async #postWhenFound(target: Target, addresses: Promise<readonly string[]>): Promise<void> {
    try {
      this.#post(target, await addresses);
    } catch (error) {
      const tookMs = this.#shared.clock.monotonicMs() - this.#startedMs;
      await pause(nameStepMs - (tookMs % nameStepMs));
      this.fail(classOf(error));
    }
  }

  #post(target: Target, addresses: readonly string[]): void {
    if (this.#isEnded) return;
    this.#send(this.#shared.connections.take(target, addresses));
  }

  #send(connection: Connection): void {
    this.#connection = connection;
    if (this.#request !== undefined) connection.send(this.#request, this);
  }

  fail(failure: FailureClass | undefined): void {
    if (this.#end(failure)) this.#connection?.drop();
  }

  // undici recognizes the current handler interface by this method.
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > interimMax) this.fail('protocol');
      return;
    }
    this.#status = status;
    if (this.#sending.isStatusEnough) return this.fail(undefined);
    const retryAfter = headers['retry-after'];
    if (typeof retryAfter !== 'string') return;
    this.#retryAfterMs = parseRetryAfter(retryAfter, this.#shared.clock.now());
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#isEnded) return;
    const capacity = textBytesMax - this.#answerBytes;
    if (capacity > 0) this.#answer += chunk.toString('latin1', 0, capacity);
    this.#answerBytes += chunk.length;
    if (this.#answerBytes > answerBytesMax) this.fail(failureOf(this.#status ?? 0));
  }

  onResponseEnd(): void {
    if (this.#end(failureOf(this.#status ?? 0))) this.#connection?.release();
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isEnded) return;
    const failure = classOf(error);
    const used = this.#connection;
    const isRace = failure === 'reset' && this.#status === undefined && (used?.answered ?? 0) > 0;
    if (used === undefined || !isRace || this.#isSecondTry) return this.fail(failure);
    this.#isSecondTry = true;
    this.#send(this.#shared.connections.replace(used));
  }

  /** @returns false if it had ended already */
  #end(failure: FailureClass | undefined): boolean {
    if (this.#isEnded) return false;
    this.#isEnded = true;
    clearTimeout(this.#deadline);
    const durationMs = this.#shared.clock.monotonicMs() - this.#startedMs;
    const record: { -readonly [Name in keyof AttemptRecord]: AttemptRecord[Name] } = {
      atMs: this.#atMs,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
    };
    const remoteIp = this.#connection?.remoteIp;
    if (remoteIp !== undefined) record.remoteIp = remoteIp;
    if (this.#status !== undefined) record.status = this.#status;
    if (failure !== undefined) record.failure = failure;
    if (this.#answerBytes > 0) record.answer = decodeAnswer(this.#answer, this.#answerBytes);
    if (this.#retryAfterMs !== undefined) record.retryAfterMs = this.#retryAfterMs;
    this.#resolve(record);
    return true;
  }
}

function postHeaders(
  { eventId, secrets, kind, deliveryId, attempt }: AttemptTask,
  body: Uint8Array,
  atMs: number,
  userAgent: string,
): string[] {
  const timestampSeconds = Math.floor(atMs / 1_000);
  const signature = signHeaders({ body, id: eventId, timestampSeconds, secrets });
  return [
    'Content-Type',
    'application/json',
    'User-Agent',
    userAgent,
    'Accept-Encoding',
    'identity',
    'X-Service-Event',
    kind,
    'X-Service-Delivery',
    deliveryId,
    'X-Service-Attempt',
    String(attempt),
    'X-Service-Signature',
    signature['X-Service-Signature'],
    'webhook-id',
    eventId,
    'webhook-timestamp',
    signature['webhook-timestamp'],
    'webhook-signature',
    signature['webhook-signature'],
  ];
}

const endAtDeadline = (run: AttemptRun): void => run.fail('timeout');

function failureOf(status: number): FailureClass | undefined {
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

const resets = /^(ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|UND_ERR_SOCKET)$/;

/** The class of an error: a Refusal, then undici's codes, then its parser's. */
function classOf(error: unknown): FailureClass {
  if (error instanceof Refusal) return error.failure;
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error ? String(error.code) : '';
  // undici reports an unexpected 100 or 101 as a socket error.
  const isExpected = error.message !== 'bad response' && error.message !== 'bad upgrade';
  if (isExpected && resets.test(code)) return 'reset';
  const isProtocol =
    error.name === 'HTTPParserError' || !isExpected || /^UND_ERR_(HEADERS|RES)/.test(code);
  return isProtocol ? 'protocol' : 'unknown';
}

/** At most 4 KB of UTF-8; invalid bytes become U+FFFD. @param kept its beginning, one character per byte */
function decodeAnswer(kept: string, bytes: number): string {
  if (!/[\x80-\xff]/.test(kept)) return kept;
  const raw = Buffer.from(kept, 'latin1');
  const text = bytes > raw.length ? decodeCut(raw) : raw.toString('utf8');
  if (Buffer.byteLength(text) <= textBytesMax) return text;
  return decodeCut(Buffer.from(text).subarray(0, textBytesMax));
}

const decodeCut = (bytes: Buffer): string =>
  new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });

/** The wait that `Retry-After` requests, 0 for a time in the past; undefined if unreadable. */
function parseRetryAfter(value: string, nowMs: number): number | undefined {
  const text = value.trim();
  if (/^\d{1,100}$/.test(text)) return Math.min(Number(text) * 1_000, retryAfterMsMax);
  const atMs = httpDate.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : NaN;
  if (Number.isNaN(atMs)) return undefined;
  return Math.min(Math.max(0, atMs - nowMs), retryAfterMsMax);
}
