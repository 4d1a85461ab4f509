/**
 * One request that asks whether an address answers: HEAD or GET, through the same guard as webhooks (egress.ts).
 *
 *   address ─ addresses (checked) ─ connection ─ request ─ status │ the connection is closed
 *   |<-------------------- one deadline, 10 s --------------->|
 *
 * - It never throws: whatever happens is a `TargetAnswer`.
 * - The status is all that is read: not a byte of the body. Redirects are not followed.
 * - Nothing of the answer is kept or shown but the status; which addresses of a private network exist does not show,
 *   because a name with a denied address ends as one without any, in whole steps of 250 ms, and no duration is told.
 * - It names itself, with a page that says what it does, and sends no cookie and no credentials.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Clock } from '../../model/clock.ts';
import type { TargetAnswer } from '../../model/watches/watch.ts';
import type { FailureClass } from '../../model/webhook.ts';
import { classOf } from './attempt.ts';
import { type Connection, Connections } from './connections.ts';
import { AddressGuard, Egress, type Target } from './egress.ts';
import type { NameLookup } from './name-lookup.ts';

const timeoutMsStandard = 10_000;
const interimMax = 16;
const nameStepMs = 250;
/** None is used again. */
const connectionsMax = 16;
const idleMs = 1_000;

export interface TargetRequestSettings {
  /** CIDR blocks that are allowed in spite of the deny lists. */
  readonly allowNetworks: readonly string[];
  /** The page about these requests, named in the User-Agent. */
  readonly docsUrl: string;
  /** Default: 10 s. */
  readonly timeoutMs?: number;
}

export interface TargetRequest {
  readonly method: 'HEAD' | 'GET';
  readonly url: string;
}

export interface TargetRequestsOptions {
  readonly settings: TargetRequestSettings;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly names: NameLookup;
}

/** Sends requests to targets; one per thread. */
export class TargetRequests {
  readonly #egress: Egress;
  readonly #connections: Connections;
  readonly #options: TargetRequestsOptions;

  constructor(options: TargetRequestsOptions) {
    const guard = new AddressGuard(options.settings.allowNetworks);
    this.#egress = new Egress(guard, options.names);
    this.#connections = new Connections(guard, connectionsMax, idleMs);
    this.#options = options;
  }

  /** Never rejects. */
  async send({ method, url }: TargetRequest): Promise<TargetAnswer> {
    const { clock, settings } = this.#options;
    const startedMs = clock.monotonicMs();
    const { timeoutMs = timeoutMsStandard, docsUrl } = settings;
    const headers = ['User-Agent', `Quietzone-Check/1 (+${docsUrl})`, 'Accept', '*/*'];
    const run = new RequestRun(timeoutMs);
    try {
      const target = this.#egress.target(url);
      const found = this.#egress.addresses(target);
      void this.#connect(run, target, found, { path: target.path, method, headers }, startedMs);
    } catch (error) {
      run.fail(classOf(error));
    }
    return await run.answer;
  }

  close(): void {
    this.#connections.close();
  }

  async #connect(
    run: RequestRun,
    target: Target,
    found: ReturnType<Egress['addresses']>,
    request: Dispatcher.DispatchOptions,
    startedMs: number,
  ): Promise<void> {
    try {
      const addresses = await found;
      if (!run.hasEnded) run.send(this.#connections.take(target, addresses), request);
    } catch (error) {
      const tookMs = this.#options.clock.monotonicMs() - startedMs;
      await pause(nameStepMs - (tookMs % nameStepMs));
      run.fail(classOf(error));
    }
  }
}

/** A request in flight: undici and the deadline report to it, and it ends once. */
class RequestRun implements Dispatcher.DispatchHandler {
  readonly answer: Promise<TargetAnswer>;
  readonly #resolve: (answer: TargetAnswer) => void;
  readonly #deadline: NodeJS.Timeout;
  #connection: Connection | undefined;
  #interim = 0;
  hasEnded = false;

  constructor(timeoutMs: number) {
    const { promise, resolve } = Promise.withResolvers<TargetAnswer>();
    this.answer = promise;
    this.#resolve = resolve;
    this.#deadline = setTimeout(() => this.fail('timeout'), timeoutMs);
  }

  send(connection: Connection, request: Dispatcher.DispatchOptions): void {
    this.#connection = connection;
    connection.send(request, this);
  }

  fail(failure: FailureClass): void {
    this.#end({ failure });
  }

  // undici recognises the current handler interface by this method.
  onRequestStart(): void {}

  onResponseStart(_controller: unknown, status: number): void {
    if (status >= 200) return this.#end({ status });
    this.#interim += 1;
    if (this.#interim > interimMax) this.fail('protocol');
  }

  onResponseData(): void {}

  onResponseEnd(): void {}

  onResponseError(_controller: unknown, error: Error): void {
    this.fail(classOf(error));
  }

  #end(answer: TargetAnswer): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    clearTimeout(this.#deadline);
    this.#resolve(answer);
    this.#connection?.drop();
  }
}
