/**
 * What one node may answer, code by code: never less than it was seen to know, and never less than what a write was
 * answered for while the node was connected. A service of one machine is one node, whichever process serves.
 *
 *     stage   -1 unknown (404) ─▶ 0 … n the number of its target (302) ─▶ Infinity deleted (410)
 *
 * A stage only rises, over restarts too: a node that had a change in its link table has it in its store. A visitor of a
 * split keeps the variant that it had.
 */
import type { Random } from './random.ts';
import {
  agents,
  botAgent,
  type CodeEntry,
  isRouted,
  type Kind,
  type Ledger,
  refererOf,
  type Scan,
  targetNumber,
} from './ledger.ts';

const unknown = -1;
const deleted = Infinity;
const botShare = 0.1;
const returningShare = 0.3;
/** While there is a code with a limit. */
const limitedShare = 0.15;
/** Only the newest codes are scanned: each gets enough scans for its sums to mean something. */
const codesInPlay = 40;
/** First octets of visitors' addresses: none of them loopback or trusted. */
const firstOctet = 128;
const firstOctets = 90;

/** `takeover`: a successor is starting, or has not taken over yet. */
export type Phase = 'steady' | 'takeover';

/** A scan, and what the node must know: its answer may not be older. */
export interface Asked {
  readonly scan: Scan;
  readonly stageAtLeast: number;
  readonly phase: Phase;
}

export class View {
  readonly ledger: Ledger;
  readonly name: string;
  readonly #isConnected: () => boolean;
  readonly #stages = new Map<CodeEntry, number>();
  /** By code, kind and visitor. */
  readonly #variants = new Map<string, string>();
  #answeredMs: number | undefined;
  #disturbedMs = -Infinity;
  /** Scans that start or end from now on count to it. */
  phase: Phase = 'steady';
  sent = 0;
  answered = 0;
  /** Milliseconds that answers took, of requests that were sent and answered in one undisturbed time. */
  readonly latencies: Record<Phase, number[]> = { steady: [], takeover: [] };
  /** Requests that broke in an undisturbed time. */
  broken = 0;
  /** The longest time without an answer in one undisturbed time. */
  silentMsMax = 0;

  constructor(ledger: Ledger, name = 'the service', isConnected = (): boolean => true) {
    this.ledger = ledger;
    this.name = name;
    this.#isConnected = isConnected;
  }

  /** The node is killed, frozen, resumed or started: requests sent until `forMs` later may break, and are not timed. */
  disturb(forMs: number): void {
    this.#answeredMs = undefined;
    this.#disturbedMs = performance.now() + forMs;
  }

  /** A request got no answer. Before the first answer, a start may try its ports, which breaks some. */
  broke({ scan }: Asked): void {
    if (scan.sentMs > this.#disturbedMs && this.#answeredMs !== undefined) this.broken++;
  }

  /** A write was answered: a node that is connected knows it from now on. @returns whether this one is */
  promise(code: CodeEntry, stage: number): boolean {
    const isConnected = this.#isConnected();
    if (isConnected) this.#raise(code, stage);
    return isConnected;
  }

  /** Chooses a code that may be asked for, and who scans it. */
  draw(random: Random): Asked | undefined {
    const { codes, limited, scans } = this.ledger;
    if (limited?.state === 'live' && random.chance(limitedShare)) return this.sendNew(limited);
    const askable = codes
      .slice(-codesInPlay)
      .filter(({ state, scanLimit }) => state !== 'creating' && scanLimit === undefined);
    if (askable.length === 0) return undefined;
    const code = random.pick(askable);
    const isReturning = scans.length > 0 && random.chance(returningShare);
    const visitor = isReturning ? random.between(0, scans.length) : scans.length;
    return this.#send(code, random.chance(botShare) ? 'bot' : agentOf(visitor).platform, visitor);
  }

  /** By somebody who has not scanned before. */
  sendNew(code: CodeEntry): Asked {
    const { length } = this.ledger.scans;
    return this.#send(code, agentOf(length).platform, length);
  }

  #send(code: CodeEntry, kind: Kind, visitor: number): Asked {
    const scan = this.ledger.send(code, kind, visitor);
    this.sent++;
    return { scan, stageAtLeast: this.#stages.get(code) ?? unknown, phase: this.phase };
  }

  /** Takes a complete answer, and checks that it may be given. */
  receive(asked: Asked, status: number, location: string): void {
    this.ledger.take(asked.scan, status);
    this.answered++;
    this.#time(asked);
    this.#checkStage(asked, status, location);
    if (status === 302) this.#checkRoute(asked.scan, location);
  }

  #time({ scan: { sentMs }, phase }: Asked): void {
    const nowMs = performance.now();
    const since = this.#answeredMs;
    this.#answeredMs = nowMs;
    if (sentMs <= this.#disturbedMs) return;
    this.latencies[phase === 'steady' ? this.phase : phase].push(nowMs - sentMs);
    if (since !== undefined) this.silentMsMax = Math.max(this.silentMsMax, nowMs - since);
  }

  #checkStage({ scan, stageAtLeast }: Asked, status: number, location: string): void {
    const { path, state, scanLimit, targetAcknowledged, targetSent } = scan.code;
    // Its limit is reached: comparison.ts compares the sums.
    if (status === 410 && scanLimit !== undefined) return;
    const stage = stageOf(scan.code, status, location);
    const said =
      `${this.name}: ${path} (${state}, target ${targetAcknowledged} of ${targetSent}) ` +
      `answered scan ${scan.number} with ${status} ${location}`.trim();
    if (stage === undefined) return this.ledger.note(said);
    const newest = state === 'deleting' || state === 'deleted' ? deleted : targetSent;
    if (stage > newest) this.ledger.note(`${said}: nothing of it was asked for`);
    if (stage < stageAtLeast) this.ledger.note(`stale: ${said}, expected stage ${stageAtLeast}`);
    this.#raise(scan.code, stage);
  }

  #raise(code: CodeEntry, stage: number): void {
    this.#stages.set(code, Math.max(stage, this.#stages.get(code) ?? unknown));
  }

  #checkRoute({ code, kind, visitor }: Scan, location: string): void {
    const route = /\?to=(\w+)$/.exec(location)?.[1] ?? 'target';
    const expected = expectedRoutes(code, kind);
    const said = `${this.name}: ${code.path} led ${kind} ${visitor} to ${route}`;
    if (!expected.includes(route)) this.ledger.note(`${said}, expected ${expected.join(' or ')}`);
    const key = `${code.number} ${kind} ${visitor}`;
    const before = this.#variants.get(key) ?? route;
    if (before !== route) this.ledger.note(`${said}, before to ${before}`);
    if (expected.length > 1) this.#variants.set(key, route);
  }
}

/** Undefined for an answer that no redirect thread may give. */
function stageOf(code: CodeEntry, status: number, location: string): number | undefined {
  if (status === 302) return targetNumber(code, location);
  if (status === 410) return deleted;
  return status === 404 ? unknown : undefined;
}

/** Where a scan of this kind may be led. */
function expectedRoutes(code: CodeEntry, kind: Kind): readonly string[] {
  if (!isRouted(code) || kind === 'bot') return ['target'];
  return kind === 'ios' ? ['ios'] : ['one', 'two'];
}

const agentOf = (visitor: number) => agents[visitor % agents.length] ?? agents[0];

/** The headers of a scan: a phone behind a proxy that names it in X-Forwarded-For. */
export function headersOf({ number, kind, visitor }: Scan): Record<string, string> {
  const rest = Math.floor(visitor / firstOctets);
  const low = [(rest >> 16) & 255, (rest >> 8) & 255, rest & 255].join('.');
  return {
    'x-forwarded-for': `${firstOctet + (visitor % firstOctets)}.${low}`,
    'user-agent': kind === 'bot' ? botAgent : agentOf(visitor).text,
    referer: refererOf(number),
  };
}
