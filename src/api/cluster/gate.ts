/**
 * How long a change may take before it is answered, where a log of several machines decides what is committed: while
 * that log is away, a transaction waits for it. The answer then says that the outcome is unknown; the change goes on by
 * itself, and what it answers in the end is kept under its Idempotency-Key: who sends it again waits for the same one.
 *
 *   body arrives | <-- ms --> | outcome_unknown
 */
import { Failure } from '../model/failure.ts';
import type { OperationId } from './roles.ts';

/**
 * They wait for others, or make many changes: a payment provider, a receiver of webhooks (15 s), threads that draw, bulk,
 * the next leader (10 s).
 */
const slowOperations: ReadonlySet<OperationId> = new Set<OperationId>([
  'cancelSubscription',
  'changeSubscription',
  'createQrCodes',
  'downloadImages',
  'handOverCluster',
  'openCheckout',
  'openPortal',
  'previewQrCode',
  'receiveStripeEvent',
  'resumeSubscription',
  'testWebhook',
]);
/** So many times longer they may take. */
const slowFactor = 12;

export class AnswerBound {
  readonly #ms: number;
  readonly #late = Promise.withResolvers<never>();
  #timer: NodeJS.Timeout | undefined;

  /** @param ms of an operation that waits for nobody else */
  constructor(ms: number, operationId: OperationId) {
    this.#ms = slowOperations.has(operationId) ? ms * slowFactor : ms;
    this.#begin();
  }

  /** The body as the client sends it: for its time the client answers. */
  async body(read: Promise<Uint8Array>): Promise<Uint8Array> {
    clearTimeout(this.#timer);
    const body = await read;
    this.#begin();
    return body;
  }

  /** The same, piece by piece. */
  async *chunks(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    clearTimeout(this.#timer);
    yield* pieces;
    this.#begin();
  }

  /** @throws what `work` throws; Failure outcome_unknown */
  async limit<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.#late.promise]);
    } finally {
      clearTimeout(this.#timer);
    }
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#late.reject(outcomeUnknown()), this.#ms);
  }
}

const outcomeUnknown = (): Failure =>
  new Failure(
    'outcome_unknown',
    'The machines of the cluster did not agree in time: whether the change was made is not known. ' +
      'A POST that is sent again with the same Idempotency-Key is made once',
    { retryAfterSeconds: 1 },
  );
