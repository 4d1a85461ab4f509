/**
 * Breaks nodes and brokers, one after the other or several at once, drawn from a seed. Each fault ends by itself:
 * what was killed starts again, what was frozen continues, what was cut off reconnects.
 */
import type { Broker, Brokers } from '../../../config/demo/brokers.ts';
import { pause } from '../../support/process.ts';
import type { Random } from '../random.ts';
import type { Ledger } from '../ledger.ts';
import type { ServiceNode } from './node.ts';

/** Verb and victim. `leader` is the broker that leads a stream, `active` the node that leads the cluster. */
export const faultKinds = [
  'kill-active',
  'kill-standby',
  'kill-cores',
  'pause-active',
  'pause-standby',
  'cut-active',
  'cut-standby',
  'kill-broker',
  'kill-leader',
  'kill-brokers',
  'pause-broker',
  'pause-leader',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface FaultsOptions {
  readonly nodes: readonly ServiceNode[];
  readonly brokers: Brokers;
  readonly random: Random;
  readonly kinds: readonly FaultKind[];
  readonly failovers: Failovers;
  readonly ledger: Ledger;
}

type Victim = ServiceNode | Broker;

/** Whose leaders are victims. */
const streams = ['CORE', 'SCANS'];

/** Between two faults. */
const calmMs = { from: 300, to: 2_500 };
/** Share of faults that the next one does not wait for. */
const overlapShare = 0.25;
const downMs = { from: 100, to: 2_500 };
/** From less than a lease to much more. */
const frozenMs = { from: 500, to: 8_000 };
/** Until a write is answered again: a stream without a leader needs up to 10 s, and its consumer as much. */
const recoveredMsMax = 60_000;
/** An answer of a process that was killed may still arrive for so long. */
const onItsWayMs = 150;
/** Writes are answered at least this often. */
const steadyMs = 500;
/** Until the brokers agree after the last fault. */
const agreeMsMax = 30_000;

/** Injected together at the end of a run. */
const lastKinds: ReadonlySet<FaultKind> = new Set(['kill-active', 'cut-standby', 'kill-leader']);

export class Faults {
  readonly #options: FaultsOptions;
  readonly #injected = new Set<Promise<void>>();
  /** One fault at a time for each process. */
  readonly #hit = new Set<Victim>();
  readonly counts = new Map<FaultKind, number>();

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /** Resolves when the time is over; the last faults may still last. */
  async run(untilMs: number): Promise<void> {
    const { random, kinds, failovers, ledger } = this.#options;
    while (performance.now() < untilMs) {
      await pause(random.between(calmMs.from, calmMs.to));
      const injected = await this.#inject(random.pick(kinds));
      if (injected === undefined || random.chance(overlapShare)) continue;
      await injected.over;
      if (!(await failovers.recovered(recoveredMsMax))) ledger.tell('NOT RECOVERED');
    }
  }

  /** Injects several faults at once. Resolves when all are over and the brokers agree. */
  async finish(): Promise<void> {
    const { kinds, brokers, ledger } = this.#options;
    for (const kind of kinds.filter((one) => lastKinds.has(one))) await this.#inject(kind);
    await Promise.all(this.#injected);
    // 2.10.27 may report itself unhealthy for minutes, for a consumer that it fails to delete. The checks that follow
    // show whether it serves.
    if (!(await brokers.becomeReady(agreeMsMax))) ledger.tell('A BROKER IS NOT READY');
  }

  /** @returns undefined if the fault has no victim now; `over` resolves when the fault is over */
  async #inject(kind: FaultKind): Promise<{ readonly over: Promise<void> } | undefined> {
    const victims = await this.#victims(kind);
    if (victims.length === 0) return undefined;
    const over = this.#breakFor(kind, victims).then(() => void this.#injected.delete(over));
    this.#injected.add(over);
    return { over };
  }

  async #breakFor(kind: FaultKind, victims: readonly Victim[]): Promise<void> {
    const { random, failovers, ledger } = this.#options;
    const { from, to } = kind.startsWith('kill') ? downMs : frozenMs;
    const ms = random.between(from, to);
    const names = victims.map(({ name }) => name).join(', ');
    ledger.tell(`${kind}: ${names} for ${ms} ms`);
    failovers.begin(kind);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    for (const victim of victims) this.#hit.add(victim);
    await Promise.all(victims.map((victim) => begin(kind, victim)));
    await pause(ms);
    for (const victim of victims) {
      end(kind, victim);
      this.#hit.delete(victim);
    }
    ledger.tell(`${names} again`);
  }

  async #victims(kind: FaultKind): Promise<readonly Victim[]> {
    const { random } = this.#options;
    const nodes = this.#options.nodes.filter((node) => node.isUp && !this.#hit.has(node));
    const brokers = this.#options.brokers.all.filter((broker) => !this.#hit.has(broker));
    const oneOf = <T>(all: readonly T[]): T[] => (all.length > 0 ? [random.pick(all)] : []);
    switch (kind.slice(kind.indexOf('-') + 1)) {
      case 'active':
        return nodes.filter(({ isActive }) => isActive);
      case 'standby':
        return oneOf(nodes.filter(({ isActive }) => !isActive));
      case 'cores':
        return nodes;
      case 'broker':
        return oneOf(brokers);
      case 'leader':
        return await leaderOf(brokers, random.pick(streams));
      default:
        return brokers.length === this.#options.brokers.all.length ? brokers : [];
    }
  }
}

async function begin(kind: FaultKind, victim: Victim): Promise<void> {
  if (kind.startsWith('kill')) await victim.kill();
  else if ('stop' in victim) victim.stop();
  else if (kind.startsWith('pause')) victim.pause();
  else victim.cut();
}

function end(kind: FaultKind, victim: Victim): void {
  if (kind.startsWith('kill')) victim.start();
  else if (kind.startsWith('pause')) victim.resume();
  else if ('heal' in victim) victim.heal();
}

/** The broker that leads the stream, according to the first broker that knows; empty if none knows. */
async function leaderOf(brokers: readonly Broker[], stream: string): Promise<readonly Broker[]> {
  for (const broker of brokers) {
    const answer = JSON.stringify(await broker.ask('jsz?accounts=true&streams=true')) ?? '';
    const name = new RegExp(`"name":"${stream}",.*?"leader":"(\\w+)"`).exec(answer)?.[1];
    const leader = brokers.find((one) => one.name === name);
    if (leader !== undefined) return [leader];
  }
  return [];
}

/**
 * Measures how long no write is answered after a fault: from the fault until the first answer to a write that was sent
 * later. A fault is not measured if another one follows before that.
 */
export class Failovers {
  /** Milliseconds, by the kind of fault. */
  readonly measured = new Map<string, number[]>();
  #answeredMs = -Infinity;
  #begunMs = -Infinity;
  #begun: { readonly kind: string; readonly atMs: number } | undefined;

  constructor(ledger: Ledger) {
    ledger.onWritten = (sentMs, atMs) => this.#answered(sentMs, atMs);
  }

  begin(kind: string): void {
    const atMs = performance.now();
    const isDisturbed = this.#begun !== undefined && this.#answeredMs < this.#begun.atMs;
    this.#begunMs = atMs;
    this.#begun = isDisturbed ? undefined : { kind, atMs };
  }

  /** Resolves when writes are answered again after the last fault. @returns false if they are not within `msMax` */
  async recovered(msMax: number): Promise<boolean> {
    const untilMs = performance.now() + msMax;
    while (
      this.#answeredMs <= this.#begunMs + onItsWayMs ||
      performance.now() - this.#answeredMs >= steadyMs
    ) {
      if (performance.now() > untilMs) return false;
      await pause(20);
    }
    return true;
  }

  #answered(sentMs: number, atMs: number): void {
    this.#answeredMs = atMs;
    const begun = this.#begun;
    if (begun === undefined || sentMs <= begun.atMs) return;
    this.#begun = undefined;
    this.measured.set(begun.kind, [...(this.measured.get(begun.kind) ?? []), atMs - begun.atMs]);
  }
}
