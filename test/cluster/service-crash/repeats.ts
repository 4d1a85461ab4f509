/**
 * Why events came to a receiver again: who sent each first, who sent it again and how long after, whether the request was
 * the same one, and whether the result of the first had been stored.
 *
 *   stored again   the first one's result was stored, and it was sent all the same: never
 *   unknown        its sender died, or lost the lead, before the result was in the log
 *   same id        the `webhook-id` of a request named other contents before: a receiver that drops by it would lose some
 */
import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { openDeliveryTables } from '../../../src/store/delivery/delivery.ts';
import type { Taken } from '../../crash/receipts.ts';

/** Upper bounds of how long after the first taking an event came again, in milliseconds. */
const agesMs = [500, 1_000, 2_000, 4_000, 8_000, Infinity] as const;
const linesMax = 12;

interface First {
  readonly atMs: number;
  readonly node: string;
  readonly request: string;
}

interface Again extends First {
  readonly first: First;
  readonly eventId: string;
}

export interface RepeatSums {
  readonly again: number;
  /** Of these in a request that came before in the same form; the others are in lists that were cut elsewhere. */
  readonly sameRequest: number;
  /** By two nodes. */
  readonly byOthers: number;
  /** Of these `byOthers` where the result of the first was in the store. */
  readonly stored: number;
  /** Ids of requests that had two contents. */
  readonly doubleIds: number;
  /** By the time since the first, beside `agesMs`. */
  readonly ages: readonly number[];
  /** One change of leader each. */
  readonly lines: readonly string[];
}

interface Sender {
  readonly name: string;
  readonly apiUrl: string;
}

export class RepeatWatch {
  readonly #nodes: readonly Sender[];
  readonly #firsts = new Map<string, First>();
  readonly #again: Again[] = [];
  /** By `webhook-id`. */
  readonly #bodies = new Map<string, string>();
  readonly #doubleIds = new Set<string>();
  /** The moment from which its seconds count. */
  readonly #startMs = Date.now();

  /** @param nodes whose addresses are in the `User-Agent` of what they send */
  constructor(nodes: readonly Sender[]) {
    this.#nodes = nodes;
  }

  #nodeOf(headers: IncomingHttpHeaders): string {
    const agent = headers['user-agent'] ?? '';
    return this.#nodes.find(({ apiUrl }) => agent.includes(`${apiUrl}/`))?.name ?? 'unknown';
  }

  /** A request that was answered with a 200. */
  note({ headers, body, eventIds }: Taken): void {
    const id = String(headers['webhook-id']);
    const hash = createHash('sha1').update(body).digest('base64');
    const request = `${id} ${hash}`;
    const known = this.#bodies.get(id);
    if (known !== undefined && known !== hash) this.#doubleIds.add(id);
    this.#bodies.set(id, hash);
    const taking = { atMs: Date.now(), node: this.#nodeOf(headers), request };
    for (const eventId of eventIds) {
      const first = this.#firsts.get(eventId);
      if (first === undefined) this.#firsts.set(eventId, taking);
      else this.#again.push({ ...taking, first, eventId });
    }
  }

  /** Against the deliveries that a core has stored. @param dataDir of one that has ended */
  sums(dataDir: string): RepeatSums {
    const successes = successesIn(dataDir);
    // Within an attempt a node sends twice where a connection that was used before ends.
    const isStored = ({ eventId, node, first }: Again): boolean =>
      node !== first.node && (successes.get(eventId) ?? []).some((ms) => ms <= first.atMs);
    const stored = this.#again.filter(isStored);
    return {
      again: this.#again.length,
      sameRequest: this.#again.filter(({ request, first }) => request === first.request).length,
      byOthers: this.#again.filter(({ node, first }) => node !== first.node).length,
      stored: stored.length,
      doubleIds: this.#doubleIds.size,
      ages: agesMs.map((bound, at) => {
        const above = agesMs[at - 1] ?? -Infinity;
        const ages = this.#again.map(({ atMs, first }) => atMs - first.atMs);
        return ages.filter((age) => age > above && age <= bound).length;
      }),
      lines: this.#lines(),
    };
  }

  /** Who repeated whom, when; what came within a second of each other is one. */
  #lines(): string[] {
    const seconds = (ms: number): string => ((ms - this.#startMs) / 1_000).toFixed(1);
    const groups = Map.groupBy(this.#again, ({ node, first, atMs }) => {
      return `${first.node}>${node} ${Math.floor(atMs / 2_000)}`;
    });
    return [...groups.values()].slice(0, linesMax).map((group) => {
      const firsts = group.map(({ first }) => first.atMs);
      const times = group.map(({ atMs }) => atMs);
      const { node, first } = group[0]!;
      return (
        `${group.length} of ${first.node} by ${node}: first at ${seconds(Math.min(...firsts))} to ` +
        `${seconds(Math.max(...firsts))} s, again at ${seconds(Math.min(...times))} to ${seconds(Math.max(...times))} s`
      );
    });
  }
}

export const agesShown = ({ ages }: RepeatSums): string =>
  ages.map((count, at) => `<= ${agesMs[at]} ms: ${count}`).join(', ');

/** When each event was delivered, as it is stored. */
function successesIn(dataDir: string): ReadonlyMap<string, readonly number[]> {
  const successes = new Map<string, number[]>();
  const tables = openDeliveryTables(join(dataDir, 'delivery.mdb'));
  for (const { value } of tables.log.range({}, () => undefined)) {
    const [, , eventIds, , attempts] = value;
    const times = attempts.filter(({ failure }) => failure === undefined).map(({ atMs }) => atMs);
    for (const id of eventIds) successes.set(id, [...(successes.get(id) ?? []), ...times]);
  }
  void tables.environment.close();
  return successes;
}
