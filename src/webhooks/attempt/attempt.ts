/**
 * One attempt: one POST of one body to one receiver, from the lookup of its name to the last byte read.
 *
 *   target ─ addresses (checked) ─ connection ─ sign ─ POST ─ status ─ answer ≤ 16 KB ─ record
 *   |<------------------------------ one deadline, 15 s ------------------------------>|
 *
 * - It never throws: whatever happens is an `AttemptRecord`. 2xx and no failure class = success.
 * - One deadline covers everything: a name server that hangs, a handshake that stalls and an answer that
 *   drips all end there, as `timeout`, and their connection is closed.
 * - A name without an address and a name with a denied one end alike, in whole steps of 250 ms: the owner of
 *   an endpoint must not learn, by how long it took, which names exist in the operator's network.
 * - Redirects are not followed: the new address was not checked.
 * - At most 16 KB of the answer are read, then the connection is closed; the status is known by then and
 *   decides. 4 KB are kept. No compression is accepted, so nothing can grow when it is decoded.
 * - A receiver may close a kept-alive connection just while we write to it. When it ends without one byte
 *   of an answer, the POST is repeated once on a fresh connection, within the same deadline: receivers
 *   recognise the event's id, and a delay of 5 s for an ordinary race would be worse.
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
import { AnswerText, failureOf, parseRetryAfter } from './answer.ts';
import { AddressGuard } from './blocked-networks.ts';
import { type Connection, Connections } from './connections.ts';
import { Egress, Refusal, type Target } from './egress.ts';
import type { NameLookup } from './name-lookup.ts';
import { signHeaders } from './signature.ts';

const answerBytesMax = 16_384;
/** Interim answers (1xx) before the answer; more of them would only keep the thread busy. */
const interimMax = 16;
const standardConnectionsMax = 1_000;
/** Longer than the answer of a name server that is near, or remembers. */
const nameStepMs = 250;
/** Idle connections are closed after this: below the 5 s after which common servers close theirs. */
const idleMs = 4_000;

export interface AttemptsOptions {
  readonly settings: AttemptSettings;
  readonly clock: Clock;
  readonly names: NameLookup;
}

/** Sends attempts and holds their connections; one per thread. */
export class Attempts {
  readonly #egress: Egress;
  readonly #connections: Connections;
  readonly #options: AttemptsOptions;
  readonly #userAgent: string;

  constructor(options: AttemptsOptions) {
    const { allowNetworks, connectionsMax = standardConnectionsMax } = options.settings;
    const guard = new AddressGuard(allowNetworks);
    this.#options = options;
    this.#egress = new Egress(guard, options.names);
    this.#connections = new Connections(guard, connectionsMax, idleMs);
    this.#userAgent = `Quietzone-Webhooks/1 (+${options.settings.docsUrl})`;
  }

  /** Connections that are open, idle ones too. */
  get connections(): number {
    return this.#connections.open;
  }

  /** Never rejects. */
  send(task: AttemptTask): Promise<AttemptRecord> {
    const { clock, settings } = this.#options;
    const connections = this.#connections;
    return new Promise((resolve) => {
      const run = new AttemptRun({ clock, connections, timeoutMs: settings.timeoutMs, resolve });
      void this.#start(task, run).catch((error: unknown) => run.fail(classOf(error)));
    });
  }

  /** Closes all connections; attempts that run end as failed. */
  close(): void {
    this.#connections.close();
  }

  async #start(task: AttemptTask, run: AttemptRun): Promise<void> {
    const target = this.#egress.target(task.url);
    const addresses = await this.#addresses(target);
    run.post({ target, addresses, headers: this.#headers(task), body: task.body });
  }

  /** @throws Refusal at the end of a step */
  async #addresses(target: Target): Promise<readonly string[]> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return await this.#egress.addresses(target);
    } catch (error) {
      const tookMs = clock.monotonicMs() - startedMs;
      await pause(nameStepMs - (tookMs % nameStepMs));
      throw error;
    }
  }

  #headers({ body, eventId, secrets, kind, deliveryId, attempt }: AttemptTask): string[] {
    const timestampSeconds = Math.floor(this.#options.clock.now() / 1_000);
    const signature = signHeaders({ body, id: eventId, timestampSeconds, secrets });
    return [
      'Content-Type',
      'application/json',
      'User-Agent',
      this.#userAgent,
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
      signature['webhook-id'],
      'webhook-timestamp',
      signature['webhook-timestamp'],
      'webhook-signature',
      signature['webhook-signature'],
    ];
  }
}

interface Post {
  readonly target: Target;
  readonly addresses: readonly string[];
  readonly headers: string[];
  readonly body: Uint8Array;
}

interface AttemptRunOptions {
  readonly clock: Clock;
  readonly connections: Connections;
  readonly timeoutMs: number;
  readonly resolve: (record: AttemptRecord) => void;
}

/** An attempt in flight: undici and the deadline report to it, and it ends once. */
class AttemptRun implements Dispatcher.DispatchHandler {
  readonly #options: AttemptRunOptions;
  readonly #atMs: number;
  readonly #startedMs: number;
  readonly #deadline: NodeJS.Timeout;
  readonly #answer = new AnswerText();
  #isEnded = false;
  #isSecondTry = false;
  #interim = 0;
  #post: Post | undefined;
  #connection: Connection | undefined;
  #status: number | undefined;
  #retryAfterMs: number | undefined;

  constructor(options: AttemptRunOptions) {
    this.#options = options;
    this.#atMs = options.clock.now();
    this.#startedMs = options.clock.monotonicMs();
    this.#deadline = setTimeout(() => this.fail('timeout'), options.timeoutMs);
  }

  post(post: Post): void {
    if (this.#isEnded) return;
    this.#post = post;
    const { connections } = this.#options;
    const { target, addresses, headers, body } = post;
    this.#connection = this.#isSecondTry
      ? connections.takeFresh(target, addresses)
      : connections.take(target, addresses);
    this.#connection.post({ path: target.path, headers, body }, this);
  }

  /** Ends it with a failure, and closes its connection. */
  fail(failure: FailureClass): void {
    this.#end(failure, () => this.#connection?.drop());
  }

  // undici recognises the current handler interface by this method.
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      this.#interim += 1;
      if (this.#interim > interimMax) this.fail('protocol');
      return;
    }
    this.#status = status;
    this.#retryAfterMs = parseRetryAfter(headers['retry-after'], this.#options.clock.now());
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.#isEnded) return;
    this.#answer.add(chunk);
    if (this.#answer.bytes <= answerBytesMax) return;
    this.#end(failureOf(this.#status ?? 0), () => this.#connection?.drop());
  }

  onResponseEnd(): void {
    this.#end(failureOf(this.#status ?? 0), () => this.#connection?.release());
  }

  onResponseError(_controller: unknown, error: Error): void {
    if (this.#isEnded) return;
    const failure = classOf(error);
    const wasKeptAlive = (this.#connection?.answered ?? 0) > 0;
    const isRace = failure === 'reset' && wasKeptAlive && this.#status === undefined;
    if (!isRace || this.#isSecondTry || this.#post === undefined) return this.fail(failure);
    this.#isSecondTry = true;
    this.#connection?.drop();
    this.post(this.#post);
  }

  #end(failure: FailureClass | undefined, closeConnection: () => void): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    clearTimeout(this.#deadline);
    const remoteIp = this.#connection?.remoteIp;
    const durationMs = this.#options.clock.monotonicMs() - this.#startedMs;
    this.#options.resolve({
      atMs: this.#atMs,
      durationMs: Math.round(durationMs * 1_000) / 1_000,
      ...(remoteIp === undefined ? {} : { remoteIp }),
      ...(this.#status === undefined ? {} : { status: this.#status }),
      ...(failure === undefined ? {} : { failure }),
      ...(this.#answer.bytes === 0 ? {} : { answer: this.#answer.toString() }),
      ...(this.#retryAfterMs === undefined ? {} : { retryAfterMs: this.#retryAfterMs }),
    });
    closeConnection();
  }
}

const resets: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
]);

/** The class of an error: our own refusals, then undici's codes, then its parser's. */
function classOf(error: unknown): FailureClass {
  if (error instanceof Refusal) return error.failure;
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error ? String(error.code) : '';
  // undici reports an unexpected answer of 100 or 101 as a fault of the socket.
  const isExpected = error.message !== 'bad response' && error.message !== 'bad upgrade';
  if (resets.has(code) && isExpected) return 'reset';
  const isProtocol =
    error.name === 'HTTPParserError' || !isExpected || /^UND_ERR_(HEADERS|RES)/.test(code);
  return isProtocol ? 'protocol' : 'unknown';
}
