/**
 * What a receiver of webhooks has seen of a crash run: every event by its id, with its exact bytes, and how
 * often it was taken with a 200. It refuses some requests on purpose: those are retried, and no duplicates.
 *
 *   committed   events in the outboxes               duplicated  taken more than once (at least once allows it)
 *   missing     committed, and never taken           altered     the same id with other bytes: never
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { Management } from '../../src/store/management.ts';
import type { ScanReport } from '../../src/scans/report.ts';
import { pause } from '../support/process.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';

/** Requests that are refused with 503. */
const refusedShare = 0.02;
/** Nothing new for this long: whatever waits longer for its retry is missing. */
const quietMs = 2_500;
const settleMsMax = 60_000;
const eventsPerPage = 5_000;

interface Envelope {
  readonly id: string;
}

export interface ReceiptSums {
  readonly committed: number;
  readonly missing: number;
  readonly duplicated: number;
  readonly altered: number;
}

export class Receipts {
  readonly #random: Random;
  readonly #server: Server;
  readonly #bodies = new Map<string, string>();
  #taken = 0;
  #altered = 0;

  constructor(random: Random) {
    this.#random = random;
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

  /** Resolves when nothing new has come for a while. */
  async settle(): Promise<void> {
    const deadlineMs = performance.now() + settleMsMax;
    let before = -1;
    while (before !== this.#taken && performance.now() < deadlineMs) {
      before = this.#taken;
      await pause(quietMs);
    }
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
    const sent: Envelope | Envelope[] = JSON.parse(Buffer.concat(chunks).toString());
    for (const envelope of Array.isArray(sent) ? sent : [sent]) {
      const bytes = JSON.stringify(envelope);
      const before = this.#bodies.get(envelope.id);
      if (before !== undefined && before !== bytes) this.#altered++;
      this.#bodies.set(envelope.id, bytes);
      this.#taken++;
    }
  }

  /** Against the outboxes, after the service has ended. */
  compare(ledger: Ledger, management: Management, report: ScanReport): ReceiptSums {
    const committed = new Map<string, string>();
    const workspaces = new Set<number>();
    for (const { value } of management.events.range({})) {
      committed.set(value.id, value.body);
      workspaces.add(value.workspaceNo);
    }
    for (const workspaceNo of workspaces) {
      for (let before: string | undefined; ;) {
        const page = report.events(workspaceNo, before, eventsPerPage);
        for (const event of page.data) committed.set(event.id, JSON.stringify(event));
        ({ before } = page);
        if (before === undefined) break;
      }
    }
    let missing = 0;
    for (const [id, body] of committed) {
      const seen = this.#bodies.get(id);
      if (seen === undefined) missing++;
      else if (seen !== body) this.#altered++;
    }
    for (const id of this.#bodies.keys()) {
      if (!committed.has(id)) ledger.note(`the event ${id} was sent and is in no outbox`);
    }
    const duplicated = this.#taken - this.#bodies.size;
    return { committed: committed.size, missing, duplicated, altered: this.#altered };
  }
}
