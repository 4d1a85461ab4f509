/**
 * What a receiver of webhooks has seen of a crash run: every event by its id, with its exact bytes, and how
 * often it was taken with a 200. It refuses some requests on purpose: those are retried, and no duplicates.
 *
 *   committed   events in the outboxes               duplicated  taken more than once (at least once allows it)
 *   missing     committed, and never taken           altered     the same id with other bytes: never
 *
 * A duplicate is explained by what came between: a kill, before which the answer had been given but its result
 * was not committed; how long before is the window that kills hit. One that no kill explains is a defect.
 */
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { once } from 'node:events';
import type { Management } from '../../src/store/management/management.ts';
import type { ScanQueries } from '../../src/scans/query/queries.ts';
import { pause } from '../support/process.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';

/** Requests that are refused with 503. */
const refusedShare = 0.02;
/** Nothing new for this long: what the service still has is missing. */
const quietMsMax = 60_000;
const checkMs = 250;
/** What is refused waits again: an attempt that is under way shows in no figure. */
const doneMsMin = 1_000;
const eventsPerPage = 5_000;
/** What a killed process had sent is taken so long after it, on a busy machine. */
const onItsWayMsMax = 250;

const commitMsMax = 1_000;

/** A request that was answered with a 200. */
export interface Taken {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Envelope {
  readonly id: string;
}

export interface ReceiptSums {
  readonly committed: number;
  readonly missing: number;
  readonly duplicated: number;
  readonly altered: number;
  readonly repeats: Repeats;
}

/** Events taken again. */
interface Repeats {
  /** No kill came between. */
  unexplained: number;
  /** Answered more than a second before the kill that came between: by then the result is committed. */
  late: number;
}

interface Taking {
  readonly bytes: string;
  atMs: number;
  /** Starts of the service before it. */
  life: number;
}

export class Receipts {
  readonly #random: Random;
  readonly #onTaken: (taken: Taken) => void;
  readonly #server: Server;
  readonly #takings = new Map<string, Taking>();
  #life = 0;
  /** By life. */
  readonly #killedAtMs: Array<number | undefined> = [];
  readonly #repeats: Repeats = { unexplained: 0, late: 0 };
  #taken = 0;
  #altered = 0;

  constructor(random: Random, onTaken: (taken: Taken) => void = () => undefined) {
    this.#random = random;
    this.#onTaken = onTaken;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  /** @returns the address to send to */
  async open(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    return `http://127.0.0.1:${port}/events`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** What comes from now on is of a new life of the service; until then, of the one before. */
  started(): void {
    this.#life += 1;
  }

  /** The service is being killed, now. What it had sent may still come. */
  killed(): void {
    this.#killedAtMs[this.#life] = performance.now();
  }

  /**
   * Resolves when the service has nothing left to deliver. A busy machine takes its time for a first delivery,
   * so that nothing came for a while says nothing.
   * @param waiting what the service still has to deliver
   */
  async settle(waiting: () => Promise<number>): Promise<void> {
    let [quietMs, doneMs] = [0, 0];
    let before = this.#taken;
    while (doneMs < doneMsMin && quietMs < quietMsMax) {
      doneMs = (await waiting()) > 0 ? 0 : doneMs + checkMs;
      await pause(checkMs);
      quietMs = this.#taken === before ? quietMs + checkMs : 0;
      before = this.#taken;
    }
    // The last answers.
    await pause(checkMs);
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The sender was killed halfway.
      return;
    }
    if (this.#random.chance(refusedShare)) {
      response.writeHead(503).end();
      return;
    }
    // Answered before it is looked at, as a receiver with a queue does.
    response.end();
    const atMs = performance.now();
    const body = Buffer.concat(chunks).toString();
    const sent: Envelope | Envelope[] = JSON.parse(body);
    const envelopes = Array.isArray(sent) ? sent : [sent];
    const { headers } = request;
    this.#onTaken({ headers, body });
    for (const envelope of envelopes) this.#note(envelope, atMs);
  }

  #note(envelope: Envelope, atMs: number): void {
    const bytes = JSON.stringify(envelope);
    const life = this.#life;
    this.#taken++;
    const before = this.#takings.get(envelope.id);
    if (before === undefined) {
      this.#takings.set(envelope.id, { bytes, atMs, life });
      return;
    }
    if (before.bytes !== bytes) this.#altered++;
    const killedMs = this.#killAfter(before, life);
    if (killedMs === undefined) this.#repeats.unexplained += 1;
    else if (killedMs - before.atMs > commitMsMax) this.#repeats.late += 1;
    before.atMs = atMs;
    before.life = life;
  }

  /** The time of the kill that explains why an event comes again in this life. */
  #killAfter(before: Taking, life: number): number | undefined {
    const ended = before.life < life ? before.life : life - 1;
    const atMs = this.#killedAtMs[ended];
    if (atMs === undefined) return undefined;
    // Where another process runs already, the next life begins with the kill, and what was on its way counts to it.
    return ended === before.life || before.atMs - atMs < onItsWayMsMax ? atMs : undefined;
  }

  /** Against the outboxes, after the service has ended. */
  compare(
    ledger: Pick<Ledger, 'note'>,
    management: Management,
    { events }: ScanQueries,
  ): ReceiptSums {
    const committed = new Map<string, string>();
    const workspaces = new Set<number>();
    for (const { value } of management.events.range({})) {
      committed.set(value.id, value.body);
      workspaces.add(value.workspaceNo);
    }
    for (const workspaceNo of workspaces) {
      for (let before: string | undefined; ;) {
        const page = events.page(workspaceNo, before, eventsPerPage);
        for (const event of page.data) committed.set(event.id, JSON.stringify(event));
        ({ before } = page);
        if (before === undefined) break;
      }
    }
    let missing = 0;
    for (const [id, body] of committed) {
      const seen = this.#takings.get(id)?.bytes;
      if (seen === undefined) missing++;
      else if (seen !== body) this.#altered++;
    }
    for (const id of this.#takings.keys()) {
      if (!committed.has(id)) ledger.note(`the event ${id} was sent and is in no outbox`);
    }
    const duplicated = this.#taken - this.#takings.size;
    const repeats = this.#repeats;
    return { committed: committed.size, missing, duplicated, altered: this.#altered, repeats };
  }
}
