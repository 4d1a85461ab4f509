/**
 * A receiver of webhooks, subscribed to every event, which outlives all faults: it has every event by its id, with its
 * exact bytes, and how often it was taken with a 200. It refuses some requests on purpose: those are retried, and no
 * duplicates.
 *
 *   committed   events in the outboxes               duplicated  taken more than once (at least once allows it)
 *   missing     committed, and never taken           altered     the same id with other bytes: never
 *   double ids  the same webhook-id with another body: a receiver that drops by id would lose one
 *
 * A duplicate is explained by what came between: a kill, before which the answer had been given but its result
 * was not committed; how long before is the window that kills hit. One that no kill explains is a defect.
 */
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from '../support/client.ts';
import { pause } from '../support/process.ts';
import { readMetrics } from '../support/running-service.ts';
import type { Random } from './random.ts';
import type { Ledger } from './ledger.ts';
import type { Stores } from './stores.ts';

/** Settings of a service that delivers to it. */
export const toLoopback = {
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  // Short, so that a run ends; as many as the real ones.
  QZ_WEBHOOKS_RETRY_DELAYS_MS: '50,100,200,400,800,1600,3200',
};

/** Requests that are refused with 503. */
const refusedShare = 0.02;
/** Nothing new for this long: what the service still has is missing. */
const quietMsMax = 60_000;
const checkMs = 250;
/** What is refused waits again: an attempt that is under way shows in no figure. */
const doneMsMin = 1_000;
/** What a killed process had sent is taken so long after it, on a busy machine. */
const onItsWayMsMax = 250;
const commitMsMax = 1_000;

/** What the killed process had sent may come until then. */
interface Kill {
  readonly atMs: number;
  untilMs: number;
}

export class EventReceiver {
  readonly #random: Random;
  readonly #server: Server;
  /** Hashes of requests, by `webhook-id`. */
  readonly #bodies = new Map<string, string>();
  readonly #doubleIds = new Set<string>();
  readonly #takings = new Map<string, { readonly bytes: string; atMs: number }>();
  readonly #altered = new Set<string>();
  readonly #kills: Kill[] = [];
  #taken = 0;
  /** Taken again, and no kill came between. */
  #unexplained = 0;
  /** Taken again, and answered more than a second before the kill that came between: by then the result is committed. */
  #late = 0;

  constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  /** Subscribes it at a service. */
  async open(apiUrl: string, apiKey: string): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    const client = new Client(apiUrl, apiKey);
    const body = { url: `http://127.0.0.1:${port}/events`, events: ['*'] };
    await client.make('/v1/webhooks', body);
    await client.close();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** A process is being killed, now. Where no other runs, what it had sent may come until the next start. */
  killed(isOtherRunning: boolean): void {
    const atMs = performance.now();
    this.#kills.push({ atMs, untilMs: isOtherRunning ? atMs + onItsWayMsMax : Infinity });
  }

  started(): void {
    const last = this.#kills.at(-1);
    if (last?.untilMs !== Infinity) return;
    last.untilMs = Math.max(last.atMs + onItsWayMsMax, performance.now());
  }

  /**
   * Resolves when the service has nothing left to deliver. A busy machine takes its time for a first delivery,
   * so that nothing came for a while says nothing.
   * @param apiUrl of the process that delivers now
   */
  async settle(apiUrl: () => string | undefined): Promise<void> {
    let [quietMs, doneMs] = [0, 0];
    let before = this.#taken;
    while (doneMs < doneMsMin && quietMs < quietMsMax) {
      doneMs = (await undelivered(apiUrl())) > 0 ? 0 : doneMs + checkMs;
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
    const body = Buffer.concat(chunks).toString();
    const webhookId = String(request.headers['webhook-id']);
    const digest = hash('sha1', body);
    if ((this.#bodies.get(webhookId) ?? digest) !== digest) this.#doubleIds.add(webhookId);
    this.#bodies.set(webhookId, digest);
    const sent: unknown = JSON.parse(body);
    for (const event of Array.isArray(sent) ? sent : [sent]) this.#note(event);
  }

  #note(event: { readonly id: string }): void {
    const { id } = event;
    const bytes = JSON.stringify(event);
    const atMs = performance.now();
    this.#taken++;
    const before = this.#takings.get(id);
    this.#takings.set(id, { bytes: before?.bytes ?? bytes, atMs });
    if (before === undefined) return;
    if (before.bytes !== bytes) this.#altered.add(id);
    const kill = this.#kills.find(({ untilMs }) => untilMs >= before.atMs);
    if (kill === undefined) this.#unexplained++;
    else if (kill.atMs - before.atMs > commitMsMax) this.#late++;
  }

  /** Against the outboxes of a service that has ended. What must not be is a fault. */
  compare(ledger: Ledger, { management, eventsOf }: Stores) {
    const committed = new Map<string, string>();
    const workspaces = new Set<number>();
    for (const { value } of management.events.range({})) {
      committed.set(value.id, value.body);
      workspaces.add(value.workspaceNo);
    }
    for (const workspaceNo of workspaces) {
      for (const event of eventsOf(workspaceNo)) committed.set(event.id, JSON.stringify(event));
    }
    let missing = 0;
    for (const [id, body] of committed) {
      const seen = this.#takings.get(id)?.bytes;
      if (seen === undefined) missing++;
      else if (seen !== body) this.#altered.add(id);
    }
    for (const id of this.#takings.keys()) {
      if (!committed.has(id)) ledger.note(`the event ${id} was sent and is in no outbox`);
    }
    const [altered, doubleIds] = [this.#altered.size, this.#doubleIds.size];
    if (missing > 0) ledger.note(`${missing} events were not delivered`);
    if (altered > 0) ledger.note(`${altered} events were delivered with other bytes`);
    if (doubleIds > 0) ledger.note(`${doubleIds} webhook-ids came with two bodies`);
    const duplicated = this.#taken - this.#takings.size;
    const again = { duplicated, unexplained: this.#unexplained, late: this.#late };
    return { committed: committed.size, missing, altered, doubleIds, ...again };
  }
}

/** Events and blocks of scans without deliveries, and deliveries that wait; 1 where no process tells. */
async function undelivered(apiUrl: string | undefined): Promise<number> {
  if (apiUrl === undefined) return 1;
  const text = await readMetrics(apiUrl).catch(() => '');
  const figures = [
    ...text.matchAll(/^quietzone_webhook_outbox_lag\{.*\} (\d+)/gm),
    ...text.matchAll(/^quietzone_webhook_deliveries\{.*"pending".*\} (\d+)/gm),
  ];
  return figures.length < 3 ? 1 : figures.reduce((sum, [, figure]) => sum + Number(figure), 0);
}
