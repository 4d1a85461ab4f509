/**
 * What the other machines of a cluster add to the API's answers.
 *
 *   read     X-Quietzone-Stale: 1 while another machine may have made changes
 *   change   503 not_active while another machine may lead, before the request counts for a quota
 *            503 outcome_unknown when the log of the machines does not commit in time (ReplyDeadline)
 *            2xx when all machines redirect by the change; X-Links-Behind counts those that do not yet
 */
import { isRead, type Reply, type Request, withHeader } from '../../platform/uws/request.ts';
import { Failure } from '../../model/failure.ts';
import { problemReply } from '../kernel/problem.ts';
import type { Route } from '../kernel/route.ts';

type Work = (request: Request) => Promise<Reply>;

export interface ClusterGateOptions {
  /**
   * Resolves when every other machine redirects by the changes so far, or after a time limit, to the number of machines that
   * do not.
   */
  readonly changesFollowed: () => Promise<number>;
  /** Whether another machine may have made changes that this one has not seen. */
  readonly isStale: () => boolean;
  /** Why the log refuses changes, if the reason is known. */
  readonly changesRefused: () => string | undefined;
  /** A change that takes longer is answered as `outcome_unknown`, and continues. */
  readonly answerWithinMs: number;
}

export class ClusterGate {
  readonly #options: ClusterGateOptions;
  readonly #docsUrl: string;

  /** @param docsUrl of the reference page of problems */
  constructor(options: ClusterGateOptions, docsUrl: string) {
    this.#options = options;
    this.#docsUrl = docsUrl;
  }

  get #isStale(): boolean {
    return this.#options.isStale();
  }

  /** @param mayChange whether links may change */
  async pass(request: Request, mayChange: boolean, work: Work): Promise<Reply> {
    if (isRead(request)) {
      const reply = await work(request);
      return this.#isStale ? withHeader(reply, 'X-Quietzone-Stale', '1') : reply;
    }
    if (this.#isStale) return this.#notActive(request);
    const reply = await work(request);
    const { status } = reply;
    // A change that was made is in the log. A refusal may come from old data.
    if (status >= 400 && status < 500 && this.#isStale) return this.#notActive(request);
    if (!mayChange || status >= 300) return reply;
    const behind = await this.#options.changesFollowed();
    return behind > 0 ? withHeader(reply, 'X-Links-Behind', String(behind)) : reply;
  }

  /** Answers a change within the deadline of its route. @param work does not reject */
  async limit(request: Request, { isSlow }: Route, work: Work): Promise<Reply> {
    const { answerWithinMs: ms } = this.#options;
    if (isRead(request)) return await work(request);
    const deadline = new ReplyDeadline(isSlow === true ? ms * slowFactor : ms);
    const late = deadline.passed.then(() => problemReply(outcomeUnknown(), request, this.#docsUrl));
    try {
      return await Promise.race([work(deadline.over(request)), late]);
    } finally {
      deadline.clear();
    }
  }

  #notActive(request: Request): Reply {
    const why = this.#options.changesRefused() ?? 'another machine may be the leader';
    const detail = `Cannot change anything here: ${why}`;
    const failure = new Failure('not_active', detail, { retryAfterSeconds: 1 });
    return problemReply(failure, request, this.#docsUrl);
  }
}

/** A slow route may take so many times longer. */
const slowFactor = 12;

/**
 * While the log is away, a transaction waits for it. The late answer is stored under its Idempotency-Key, and a repeated
 * request waits for the same one.
 *
 *   body arrives | <-- ms --> | outcome_unknown
 */
class ReplyDeadline {
  readonly #ms: number;
  readonly #passed = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;
  readonly passed = this.#passed.promise;

  constructor(ms: number) {
    this.#ms = ms;
    this.#begin();
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  /** `request`; the time that its body takes to arrive does not count. */
  over(request: Request): Request {
    return {
      ...request,
      body: () => this.#body(request),
      chunks: () => this.#chunks(request),
      get aborted() {
        return request.aborted;
      },
    };
  }

  async #body(request: Request): Promise<Uint8Array> {
    this.clear();
    const body = await request.body();
    this.#begin();
    return body;
  }

  async *#chunks(request: Request): AsyncGenerator<Uint8Array> {
    this.clear();
    yield* request.chunks();
    this.#begin();
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#passed.resolve(), this.#ms);
  }
}

const outcomeUnknown = (): Failure =>
  new Failure(
    'outcome_unknown',
    'The machines of the cluster did not agree in time, so the outcome of the change is unknown. A repeated POST ' +
      'with the same Idempotency-Key takes effect once',
    { retryAfterSeconds: 1 },
  );
