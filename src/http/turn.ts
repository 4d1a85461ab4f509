/**
 * The answers of one event-loop turn, waiting for the turn's journal write.
 * A client that leaves before its answer is marked by a handler made once per place, so that a request
 * costs no closure.
 */
import type { HttpResponse } from 'uWebSockets.js';

/** Redirects in one turn; one more ends the turn early. epoll hands out at most 1,024 events. */
const turnMax = 1_024;

export class Turn {
  readonly #responses: HttpResponse[] = [];
  readonly #locations: Uint8Array[] = [];
  readonly #aborted = new Uint8Array(turnMax);
  readonly #abortHandlers = Array.from({ length: turnMax }, (_, place) => () => {
    this.#aborted[place] = 1;
  });
  #count = 0;
  #current = 0;
  #closes = false;
  readonly #send = (): void => {
    const response = this.#responses[this.#current]!;
    response.writeStatus('302 Found');
    response.writeHeader('Location', this.#locations[this.#current]!);
    response.writeHeader('Cache-Control', 'private, no-store');
    response.end(undefined, this.#closes);
  };

  get count(): number {
    return this.#count;
  }
  get isFull(): boolean {
    return this.#count === turnMax;
  }

  add(response: HttpResponse, location: Uint8Array): void {
    const place = this.#count++;
    this.#responses[place] = response;
    this.#locations[place] = location;
    this.#aborted[place] = 0;
    response.onAborted(this.#abortHandlers[place]!);
  }

  /** Sends all answers and empties the turn. */
  answer(closes: boolean): void {
    this.#closes = closes;
    for (let place = 0; place < this.#count; place++) {
      if (this.#aborted[place] === 1) continue;
      this.#current = place;
      this.#responses[place]!.cork(this.#send);
    }
    this.#count = 0;
  }
}
