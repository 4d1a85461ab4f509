/**
 * What is done to cores and brokers, one after the other or one into the other, drawn from a seed. Each fault ends by
 * itself after a time: what was killed is started again, what was frozen goes on, what was cut off is joined.
 */
import type { Random } from '../../crash/random.ts';
import { pause } from '../../support/process.ts';
import type { Broker, Brokers } from '../../../config/demo/brokers.ts';
import type { Failovers } from './failovers.ts';
import type { FaultKind } from './fault-kinds.ts';
import type { Victim } from './victim.ts';

export interface FaultsOptions {
  readonly cores: readonly Victim[];
  /** The one that writes, as far as is known. */
  readonly active: () => Victim | undefined;
  /** Of which a leader is a victim. */
  readonly streams: readonly string[];
  readonly brokers: Brokers;
  readonly random: Random;
  readonly kinds: readonly FaultKind[];
  readonly failovers: Pick<Failovers, 'begin' | 'recovered'>;
  readonly note: (line: string) => void;
}

/** Processes, and what is done to each: at the begin, and when it is over. */
interface Fault {
  readonly names: readonly string[];
  readonly begin: () => unknown;
  readonly end: () => void;
}

/** Between two faults when nothing is wrong. */
const calmMs = { from: 300, to: 2_500 };
/** Share of faults after which the next one comes at once: while they last, or before a core leads again. */
const overlapShare = 0.25;
const downMs = { from: 100, to: 2_500 };
/** From less than a lease to much more. */
const frozenMs = { from: 500, to: 8_000 };
/** Until a write is answered again: a stream without a leader needs up to 10 s, and as much for the consumer. */
const recoveredMsMax = 60_000;
/** Until the brokers agree after the last fault. */
const agreeMsMax = 30_000;

/** At once, at the end of a run: what everything heals from. */
const lastKinds: ReadonlySet<FaultKind> = new Set(['kill-active', 'cut-standby', 'kill-leader']);

export class Faults {
  readonly #options: FaultsOptions;
  /** Until they are over. */
  readonly #injected = new Set<Promise<void>>();
  /** One fault at a time for each process. */
  readonly #hit = new Set<string>();
  readonly counts = new Map<FaultKind, number>();

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  /** Resolves when the time is over; what is broken then heals by itself. */
  async run(untilMs: number): Promise<void> {
    const { random, kinds, failovers, note } = this.#options;
    while (performance.now() < untilMs) {
      await pause(random.between(calmMs.from, calmMs.to));
      const kind = random.pick(kinds);
      const fault = await this.#draw(kind);
      if (fault.names.length === 0) continue;
      const over = this.#track(this.#inject(kind, fault));
      if (random.chance(overlapShare)) continue;
      await over;
      if (!(await failovers.recovered(recoveredMsMax))) note('NOT RECOVERED');
    }
  }

  /** Several faults at once. Resolves when they are over, everything runs again, and the brokers agree. */
  async finish(): Promise<void> {
    for (const kind of this.#options.kinds.filter((one) => lastKinds.has(one))) {
      const fault = await this.#draw(kind);
      if (fault.names.length > 0) void this.#track(this.#inject(kind, fault));
    }
    await Promise.all(this.#injected);
    // 2.10.27 may call itself unhealthy for minutes, for a consumer that it fails to delete: the checks that follow tell
    // whether it serves.
    const { brokers, note } = this.#options;
    if (!(await brokers.becomeReady(agreeMsMax))) note('A BROKER IS NOT READY');
  }

  /** @returns resolves when it is over */
  #track(fault: Promise<void>): Promise<void> {
    const over = fault.then(() => void this.#injected.delete(over));
    this.#injected.add(over);
    return over;
  }

  async #inject(kind: FaultKind, { names, begin, end }: Fault): Promise<void> {
    const { random, failovers, note } = this.#options;
    const { from, to } = kind.startsWith('kill') ? downMs : frozenMs;
    const ms = random.between(from, to);
    note(`${kind}: ${names.join(', ')} for ${ms} ms`);
    failovers.begin(kind);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    for (const name of names) this.#hit.add(name);
    await begin();
    await pause(ms);
    end();
    note(`${names.join(', ')} again`);
    for (const name of names) this.#hit.delete(name);
  }

  /** A fault that is not possible now has no names. */
  async #draw(kind: FaultKind): Promise<Fault> {
    const { random, streams } = this.#options;
    const cores = this.#options.cores.filter(({ name, isUp }) => isUp && !this.#hit.has(name));
    const brokers = this.#options.brokers.all.filter(({ name }) => !this.#hit.has(name));
    const active = cores.filter((core) => core === this.#options.active());
    const standbys = cores.filter((core) => !active.includes(core));
    const oneOf = <T>(all: readonly T[]): T[] => (all.length > 0 ? [random.pick(all)] : []);
    const areAll = brokers.length === this.#options.brokers.all.length;
    const draws: Readonly<Record<FaultKind, () => Fault | Promise<Fault>>> = {
      'kill-active': () => killCores(active),
      'kill-standby': () => killCores(oneOf(standbys)),
      'kill-cores': () => killCores(cores),
      'pause-active': () => pauseCores(active),
      'pause-standby': () => pauseCores(oneOf(standbys)),
      'cut-active': () => cutCores(active),
      'cut-standby': () => cutCores(oneOf(standbys)),
      'kill-broker': () => killBrokers(oneOf(brokers)),
      'kill-leader': async () => killBrokers(await leaderOf(brokers, random.pick(streams))),
      'kill-brokers': () => killBrokers(areAll ? brokers : []),
      'pause-broker': () => pauseBrokers(oneOf(brokers)),
      'pause-leader': async () => pauseBrokers(await leaderOf(brokers, random.pick(streams))),
    };
    return await draws[kind]();
  }
}

const namesOf = (all: readonly { readonly name: string }[]): string[] =>
  all.map(({ name }) => name);

const killCores = (cores: readonly Victim[]): Fault => ({
  names: namesOf(cores),
  begin: () => Promise.all(cores.map((core) => core.kill())),
  end: () => cores.forEach((core) => core.start()),
});

const pauseCores = (cores: readonly Victim[]): Fault => ({
  names: namesOf(cores),
  begin: () => cores.forEach((core) => core.pause()),
  end: () => cores.forEach((core) => core.resume()),
});

const cutCores = (cores: readonly Victim[]): Fault => ({
  names: namesOf(cores),
  begin: () => cores.forEach((core) => core.cut()),
  end: () => cores.forEach((core) => core.heal()),
});

const killBrokers = (brokers: readonly Broker[]): Fault => ({
  names: namesOf(brokers),
  begin: () => Promise.all(brokers.map((broker) => broker.kill())),
  end: () => brokers.forEach((broker) => broker.start()),
});

const pauseBrokers = (brokers: readonly Broker[]): Fault => ({
  names: namesOf(brokers),
  begin: () => brokers.forEach((broker) => broker.stop()),
  end: () => brokers.forEach((broker) => broker.resume()),
});

/** The broker that leads the stream, as one of them says; none while none does. */
async function leaderOf(brokers: readonly Broker[], stream: string): Promise<readonly Broker[]> {
  for (const broker of brokers) {
    const name = leaderIn(await broker.ask('jsz?accounts=true&streams=true'), stream);
    const leader = brokers.find((one) => one.name === name);
    if (leader !== undefined) return [leader];
  }
  return [];
}

interface Streams {
  readonly account_details?: readonly {
    readonly stream_detail?: readonly {
      readonly name: string;
      readonly cluster?: { readonly leader?: string };
    }[];
  }[];
}

function leaderIn(answer: unknown, stream: string): string | undefined {
  const accounts = (answer as Streams | undefined)?.account_details ?? [];
  const streams = accounts.flatMap(({ stream_detail: all = [] }) => all);
  return streams.find(({ name }) => name === stream)?.cluster?.leader;
}
