/**
 * Which nodes are connected, as the brokers have it: each node publishes a beat every 500 ms, and a leader waits for
 * those whose last one came within 2 s. Received here over a connection to each broker, so that a broker that dies hides no node.
 */
import { type NatsConnection, openNats } from '../../../src/cluster/nats/nats-connection.ts';

/** Shorter than a leader's: a node whose beats come late is not counted on. */
const recentMs = 1_000;
/** So long without a gap. */
const steadyMs = 2_000;

interface Received {
  atMs: number;
  /** Since then no beat was late. */
  sinceMs: number;
}

export class Beats {
  readonly #connections: readonly NatsConnection[];
  readonly #received = new Map<string, Received>();

  private constructor(connections: readonly NatsConnection[]) {
    this.#connections = connections;
    for (const connection of connections) {
      connection.subscribe('qz.nodes.*', (_, subject) => this.#take(subject.split('.')[2]));
      connection.subscribe('qz.edge.*.beat', (_, subject) => this.#take(subject.split('.')[2]));
    }
  }

  static async open(urls: readonly string[]): Promise<Beats> {
    const options = urls.map((url) => ({ servers: [url], nodeName: 'run' }));
    return new Beats(await Promise.all(options.map(openNats)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  /** @returns whether a beat of this node ever came */
  knows(node: string): boolean {
    return this.#received.has(node);
  }

  isConnected(node: string): boolean {
    const received = this.#received.get(node);
    const nowMs = performance.now();
    return (
      received !== undefined &&
      nowMs - received.atMs < recentMs &&
      nowMs - received.sinceMs > steadyMs
    );
  }

  #take(node: string | undefined): void {
    if (node === undefined) return;
    const nowMs = performance.now();
    const received = this.#received.get(node);
    if (received === undefined || nowMs - received.atMs > recentMs) {
      this.#received.set(node, { atMs: nowMs, sinceMs: nowMs });
    } else received.atMs = nowMs;
  }
}
