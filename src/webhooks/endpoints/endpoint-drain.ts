/**
 * What happens to an endpoint's deliveries when it is switched off, in batches beside everything else:
 *
 *   disabled   what waits goes to the dead letters, from where it can be replayed
 *   removed    what waits is canceled; what was delivered is forgotten; dead letters stay until they expire
 *
 * What is in flight is left to its result. A sweep that a crash cuts short goes on at the next start
 * (`resume`), and whenever somebody comes to send to an endpoint that is off. An endpoint that is enabled
 * again keeps what the sweep has not reached.
 */
import type { Logger } from '../../telemetry/log.ts';
import type { DeliveryStore } from '../deliveries/delivery-store.ts';
import { stateCodes } from '../deliveries/delivery-transaction.ts';
import type { Endpoints } from './endpoints.ts';

/** Deliveries of one transaction. */
const batchMax = 500;
const retryMs = 1_000;

type IsBusy = (delivery: { readonly no: number; readonly endpointNo: number }) => boolean;

export class EndpointDrain {
  readonly #book: DeliveryStore;
  readonly #endpoints: Endpoints;
  readonly #log: Logger;
  readonly #running = new Map<number, Promise<void>>();
  #isBusy: IsBusy = () => false;
  #isClosed = false;

  constructor(options: {
    readonly book: DeliveryStore;
    readonly endpoints: Endpoints;
    readonly log: Logger;
  }) {
    this.#book = options.book;
    this.#endpoints = options.endpoints;
    this.#log = options.log;
    options.endpoints.onChange((no, record) => {
      if (record?.status !== 'enabled') this.start(no);
    });
  }

  /** Who says what is in flight: the dispatcher. */
  onBusy(isBusy: IsBusy): void {
    this.#isBusy = isBusy;
  }

  get isQuiet(): boolean {
    return this.#running.size === 0;
  }

  /** Sweeps in the background; a sweep that runs already is enough. */
  start(endpointNo: number): void {
    void this.run(endpointNo);
  }

  /** Resolves when nothing waits for the endpoint, or it is enabled again. */
  async run(endpointNo: number): Promise<void> {
    let running = this.#running.get(endpointNo);
    if (running === undefined) {
      running = this.#sweep(endpointNo).finally(() => this.#running.delete(endpointNo));
      this.#running.set(endpointNo, running);
    }
    await running;
  }

  /** Finds what a crash left: endpoints that are off or gone and have deliveries that should not wait. */
  resume(): void {
    const { queue, log } = this.#book.store;
    for (const no of eachEndpoint((from) => first(queue.keys({ start: [from, 0, 0], limit: 1 })))) {
      if (this.#endpoints.byNo(no)?.status !== 'enabled') this.start(no);
    }
    for (const no of eachEndpoint((from) => first(log.keys({ start: [from, 0, 0], limit: 1 })))) {
      if (this.#endpoints.byNo(no) === undefined) this.start(no);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running.values());
  }

  async #sweep(endpointNo: number): Promise<void> {
    while (!this.#isClosed) {
      const endpoint = this.#endpoints.byNo(endpointNo);
      if (endpoint?.status === 'enabled') return;
      try {
        const swept = await this.#book.write((pen) => {
          const found = this.#batch(endpointNo, endpoint === undefined ? 'removed' : 'disabled');
          for (const no of found) {
            const delivery = pen.find(no);
            if (delivery === undefined) continue;
            if (endpoint === undefined) pen.move(delivery, 'endpoint_removed');
            else pen.move(delivery, 'endpoint_disabled', { deadReason: 'endpoint_disabled' });
          }
          return found.length;
        });
        if (swept === 0) return;
      } catch (err) {
        this.#log.error({ err }, 'cannot sweep the deliveries of an endpoint, trying again');
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  /** Numbers of deliveries that do not belong there. Inside the transaction. */
  #batch(endpointNo: number, why: 'disabled' | 'removed'): number[] {
    const { queue, log } = this.#book.store;
    const found: number[] = [];
    const take = (no: number): void => {
      if (!this.#isBusy({ no, endpointNo })) found.push(no);
    };
    for (const [, , no] of queue.keys({ start: [endpointNo, 0, 0], end: [endpointNo + 1, 0, 0] })) {
      if (found.length === batchMax) return found;
      take(no);
    }
    if (why === 'disabled') return found;
    const code = stateCodes.delivered;
    const delivered = log.keys({ start: [endpointNo, code, 0], end: [endpointNo, code + 1, 0] });
    for (const [, , no] of delivered) {
      if (found.length === batchMax) return found;
      take(no);
    }
    return found;
  }
}

type Triple = [number, number, number];

function first(keys: Iterable<Triple>): Triple | undefined {
  for (const key of keys) return key;
  return undefined;
}

/** Each endpoint that has an entry, by one seek each. */
function* eachEndpoint(seek: (from: number) => Triple | undefined): Generator<number> {
  for (let from = 0; ;) {
    const found = seek(from);
    if (found === undefined) return;
    yield found[0];
    from = found[0] + 1;
  }
}
