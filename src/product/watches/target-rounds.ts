/**
 * Requests the targets of watches, at a low rate.
 *
 *   watch due -> its addresses -> queue of each host -> HEAD -- 2xx, 3xx --> answering
 *                                                         |
 *                                                         4xx, 5xx, no answer to HEAD --> GET --> its result
 *
 * - At most one request to a host, whatever its port, in 10 s, and 8 in flight, for the whole installation. The first one
 *   comes 10 s after this process begins to write: another process may have sent one just before.
 * - A workspace has at most a quarter of the rounds that others leave: many watches of one slow host do not delay others.
 * - All watches of an address share an answer for 10 minutes.
 * - Redirects are answers and are not followed.
 * - If no host has answered recently and three or more were unreachable, this machine is probably offline: the result is
 *   inconclusive.
 *
 * All state is in memory: an interrupted round is still due and restarts.
 */
import { LRUCache } from 'lru-cache';
import type { Clock } from '../../model/clock.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { TargetAnswer, TargetChecker, WatchRecord } from '../../model/watches/watch.ts';
import { type CheckedTarget, isUnreached, resultOf } from './conclusions.ts';

const hostEveryMs = 10_000;
const inFlightMax = 8;
/** Watches whose addresses are requested at a time. */
const roundsMax = 100;
/** Share of the free rounds that one workspace may have: 25 at most, and 1 while any is free. */
const share = 1 / 4;
const answersKept = 10_000;
const answerFreshMs = 600_000;
/** Hosts with a time of their last request. */
const hostsKept = 10_000;
const unreachedHostsMax = 3;

interface Job {
  readonly url: string;
  readonly host: string;
  method: 'HEAD' | 'GET';
}

interface Round {
  readonly workspaceNo: WorkspaceNo;
  readonly waiting: Set<string>;
  readonly checked: CheckedTarget[];
  readonly onEnd: (checked: readonly CheckedTarget[]) => void;
}

export interface TargetRoundsOptions {
  readonly checker: Pick<TargetChecker, 'check'>;
  readonly clock: Clock;
  /** Called for each request that has ended. */
  readonly onRequest: (answer: TargetAnswer) => void;
}

export class TargetRounds {
  readonly #options: TargetRoundsOptions;
  readonly #startedMs: number;
  readonly #rounds = new Map<string, Round>();
  /** By host, in the order in which they came. */
  readonly #queues = new Map<string, Job[]>();
  /** Monotonic, by host. */
  readonly #askedAt = new LRUCache<string, number>({ max: hostsKept });
  readonly #answers = new LRUCache<
    string,
    { readonly checked: CheckedTarget; readonly ms: number }
  >({
    max: answersKept,
  });
  /** Hosts that could not be reached since the last answer of any host. */
  readonly #unreached = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: TargetRoundsOptions) {
    this.#options = options;
    this.#startedMs = options.clock.monotonicMs();
  }

  get isFull(): boolean {
    return this.#rounds.size >= roundsMax;
  }

  /** Whether its workspace may have another round. */
  mayBegin({ workspaceNo }: Pick<WatchRecord, 'workspaceNo'>): boolean {
    let own = 0;
    for (const round of this.#rounds.values()) if (round.workspaceNo === workspaceNo) own++;
    const free = roundsMax - (this.#rounds.size - own);
    return own < Math.ceil(free * share);
  }

  has(watchId: string): boolean {
    return this.#rounds.has(watchId);
  }

  /** @param onEnd called once when each address has been asked, never before this returns */
  begin(
    { id, workspaceNo }: Pick<WatchRecord, 'id' | 'workspaceNo'>,
    urls: readonly string[],
    onEnd: Round['onEnd'],
  ): void {
    const nowMs = this.#options.clock.monotonicMs();
    const round: Round = { workspaceNo, waiting: new Set(urls), checked: [], onEnd };
    this.#rounds.set(id, round);
    for (const url of urls) {
      const known = this.#answers.get(url);
      if (known === undefined || nowMs - known.ms >= answerFreshMs) this.#enqueue(url);
      else this.#take(round, known.checked);
    }
  }

  /** Starts the requests that are allowed now. Called every few seconds. */
  tick(): void {
    if (this.#isClosed) return;
    const nowMs = this.#options.clock.monotonicMs();
    for (const [id, round] of this.#rounds) this.#endIfDone(id, round);
    // Hosts move to the end meanwhile.
    const queues = [...this.#queues];
    for (const [host, queued] of queues) {
      if (this.#running.size >= inFlightMax) return;
      if (nowMs - (this.#askedAt.get(host) ?? this.#startedMs) < hostEveryMs) continue;
      const [job, ...others] = queued.filter(({ url }) => this.#isAwaited(url));
      this.#queues.delete(host);
      if (others.length > 0) this.#queues.set(host, others);
      if (job !== undefined) this.#start(job, nowMs);
    }
  }

  /** Resolves when no request is in flight; then it reports no more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#rounds.clear();
    await this.settled();
  }

  /** Resolves when all started requests have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  #enqueue(url: string): void {
    const { hostname: host } = new URL(url);
    const jobs = this.#queues.get(host) ?? [];
    this.#queues.set(host, jobs);
    if (jobs.some((job) => job.url === url)) return;
    jobs.push({ url, host, method: 'HEAD' });
  }

  #start(job: Job, nowMs: number): void {
    this.#askedAt.set(job.host, nowMs);
    const running = this.#ask(job).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #ask(job: Job): Promise<void> {
    const { checker, clock, onRequest } = this.#options;
    const answer = await checker.check(job);
    this.#askedAt.set(job.host, clock.monotonicMs());
    onRequest(answer);
    if (answer.failure === undefined) this.#unreached.clear();
    else if (isUnreached(answer.failure)) this.#unreached.add(job.host);
    if (job.method === 'HEAD' && asksAgain(answer)) {
      job.method = 'GET';
      this.#queues.set(job.host, [job, ...(this.#queues.get(job.host) ?? [])]);
      return;
    }
    const isOffline = this.#unreached.size >= unreachedHostsMax;
    const result = resultOf(answer, isOffline);
    const checked = { url: job.url, atMs: clock.now(), result };
    this.#answers.set(job.url, { checked, ms: clock.monotonicMs() });
    for (const [id, round] of this.#rounds) {
      this.#take(round, checked);
      this.#endIfDone(id, round);
    }
  }

  #isAwaited(url: string): boolean {
    for (const { waiting } of this.#rounds.values()) if (waiting.has(url)) return true;
    return false;
  }

  #take(round: Round, checked: CheckedTarget): void {
    if (round.waiting.delete(checked.url)) round.checked.push(checked);
  }

  #endIfDone(id: string, round: Round): void {
    if (round.waiting.size > 0 || !this.#rounds.delete(id)) return;
    round.onEnd(round.checked);
  }
}

/** Some servers refuse HEAD, or never answer it, where GET gets the page. */
function asksAgain({ status, failure }: TargetAnswer): boolean {
  if (status !== undefined) return status >= 400 && status !== 429;
  return failure === 'reset' || failure === 'protocol' || failure === 'timeout';
}
