/**
 * A cluster of a seed in which nodes refuse scans without contact: cores with the real election over one log, edges, and
 * clients that change links and scan. Nodes are cut off and stopped for seconds, their clocks differ in speed by 5 %,
 * messages are late, overtake each other or are lost, edges start again with an older disk and get all links anew, from a
 * core that may be behind.
 *
 * Checked: no scan is answered with a number that is lower than that of a change answered before the scan was sent.
 */
import { Applier, emptyPosition } from '../../../src/cluster/log/applier.ts';
import { encodeEntry, encodeWrites } from '../../../src/cluster/log/entry.ts';
import { Lead } from '../../../src/cluster/log/lead.ts';
import { Beats } from '../../../src/cluster/nodes/beats.ts';
import { Confirmations } from '../../../src/cluster/nodes/confirmations.ts';
import { LinkContact } from '../../../src/cluster/nodes/link-contact.ts';
import { LinkPermission } from '../../../src/links/permission.ts';
import type { NodeRole } from '../../../src/store/management/cluster.ts';
import { Random } from '../../crash/random.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { Machine, Network } from './contact-network.ts';

const leaseMs = 3_000;
const beatMs = 500;

export interface SimulationResult {
  /** What a scan was led to, though a later change had been answered. */
  readonly stale: readonly string[];
  readonly changes: number;
  /** Time that changes took from being in the log to their answer. */
  readonly waitedMs: readonly number[];
  readonly leads: number;
  readonly redirected: number;
  readonly refused: number;
  /** Redirects to what is not the newest change: they are allowed until that is answered. */
  readonly older: number;
  /** Once everything has healed: nodes that refuse, and how long the last change took. */
  readonly refusing: readonly string[];
  readonly lastWaitedMs: number;
}

/** A node that redirects: the table's number, and whether it may be used. */
class Node {
  readonly simulation: ContactSimulation;
  readonly machine: Machine;
  readonly name: string;
  readonly role: NodeRole;
  permission!: LinkPermission;
  contact!: LinkContact;
  beats!: Beats;
  /** In the link table, and as the node tells it. */
  table = 0;
  told = 0;
  #starts = 0;

  constructor(simulation: ContactSimulation, name: string, role: NodeRole) {
    this.simulation = simulation;
    this.name = name;
    this.role = role;
    this.machine = new Machine(simulation.time, simulation.random);
    this.start();
  }

  start(): void {
    const { machine, name, role } = this;
    const connection = this.simulation.network.connection(machine);
    this.#starts += 1;
    const instance = `n_${name}_${String(this.#starts).padStart(3, '0')}`;
    this.permission = new LinkPermission(machine.nanoseconds);
    const beats = new Beats({
      connection,
      timers: machine,
      self: { name, instance, role, redirects: true, url: '', refuses: true },
      linkNumber: () => this.told,
      journaled: () => ({ atMs: 0, tails: [] }),
      onDouble: () => undefined,
    });
    this.beats = beats;
    this.contact = new LinkContact({
      connection,
      timers: machine,
      nanoseconds: machine.nanoseconds,
      beat: () => beats.own,
      permission: this.permission,
    });
  }

  /** @param told what it says; less than `table` while links come anew */
  move(told: number): void {
    this.told = told;
    this.contact.moved();
    this.beats.moved();
  }

  scan(): void {
    const { time, scans } = this.simulation;
    const atLeast = this.simulation.answered;
    const sentMs = time.nowMs;
    this.machine.do(() => {
      if (this.permission.isOver) {
        scans.refused++;
        return;
      }
      scans.redirected++;
      if (this.table < this.simulation.newest) scans.older++;
      if (this.table >= atLeast) return;
      scans.stale.push(
        `${this.name}: sent at ${sentMs}, led to ${this.table} at ${time.nowMs}, ${atLeast} was answered`,
      );
    });
  }
}

class Core extends Node {
  readonly applier = new Applier(emptyPosition);
  readonly lead: Lead;
  readonly confirmations: Confirmations;
  #read = 0;
  #isReadingPlanned = false;
  /** Of what is under way. */
  #pending: { n: number; epoch: number; sentMs: number } | undefined;

  constructor(simulation: ContactSimulation, name: string) {
    super(simulation, name, 'all');
    const { machine } = this;
    this.lead = new Lead({
      self: { owner: name, url: '', version: '' },
      timers: machine,
      random: () => simulation.random.next(),
      leaseMs,
      beatMs,
      position: () => this.applier.position,
      isAtEnd: () => Promise.resolve(!machine.isCut && this.#read === simulation.log.length),
      append: (body) => this.#append(body),
      onLeading: () => {
        simulation.leads += 1;
      },
      onDeposed: () => {
        this.#pending = undefined;
      },
    });
    this.confirmations = new Confirmations({
      connection: simulation.network.connection(machine),
      timers: machine,
      refuses: true,
      epoch: () => (this.lead.isHeld ? this.applier.position.epoch : undefined),
      lastLink: () => this.table,
    });
    this.lead.start();
  }

  /** A change of a link, where it leads and nothing else is under way. */
  change(): void {
    if (this.machine.isStopped || !this.lead.isHeld || this.#pending !== undefined) return;
    const { epoch, n, chain } = this.applier.position;
    const sentMs = this.machine.monotonicMs();
    this.#pending = { n: n + 1, epoch, sentMs };
    const bytes = encodeWrites([])[0]!;
    this.#append(encodeEntry({ epoch, n: n + 1, chain, kind: 'tx', part: 0, parts: 1, bytes }));
    // An entry that is lost on its way is sent again, as the replicator does.
    this.machine.after(1_000, () => {
      if (this.#pending?.n === n + 1) this.#pending = undefined;
    });
  }

  #append(body: Uint8Array): void {
    const { network, broker, log, cores } = this.simulation;
    network.send(this.machine, broker, () => {
      log.push(body);
      for (const core of cores) core.readLater();
    });
  }

  /** In order, when it can. */
  readLater(): void {
    if (this.#isReadingPlanned) return;
    this.#isReadingPlanned = true;
    const { time, random, log } = this.simulation;
    const isLate = random.chance(0.02);
    time.later(random.between(1, isLate ? 800 : 10), () => {
      this.#isReadingPlanned = false;
      if (this.machine.isCut) {
        time.later(100, () => this.readLater());
        return;
      }
      const upTo = log.length;
      this.machine.do(() => {
        while (this.#read < upTo) this.#apply(log[this.#read++]!);
      });
    });
  }

  #apply(body: Uint8Array): void {
    const decision = this.applier.accept(this.#read, body);
    if (decision.kind === 'lead') {
      this.lead.countedLead(decision.leader);
      this.lead.storedLead(decision.leader, this.applier.position.epoch);
    } else if (decision.kind === 'beat') {
      this.lead.countedBeat(decision.count);
    } else if (decision.kind === 'writes') {
      this.#applyChange();
    }
  }

  #applyChange(): void {
    const { n, epoch } = this.applier.position;
    const own = this.#pending?.n === n && this.#pending.epoch === epoch ? this.#pending : undefined;
    this.#pending = undefined;
    this.lead.counted(own?.sentMs);
    this.table += 1;
    this.move(this.table);
    if (own !== undefined) void this.#answer(this.table);
  }

  async #answer(number: number): Promise<void> {
    const { simulation } = this;
    const { time } = simulation;
    const fromMs = time.nowMs;
    simulation.newest = Math.max(simulation.newest, number);
    await Promise.all([this.confirmations.followed(number), this.beats.linksFollowed(number)]);
    simulation.waitedMs.push(time.nowMs - fromMs);
    simulation.answered = Math.max(simulation.answered, number);
  }
}

class Edge extends Node {
  /** It sends beats, and follows no links. */
  isStuck = false;
  #isRefilling = false;

  constructor(simulation: ContactSimulation, name: string) {
    super(simulation, name, 'edge');
    this.#follow();
  }

  /** A feed: now and then what some core has, never going back. */
  #follow(): void {
    const { time, random, network, cores } = this.simulation;
    time.later(random.between(2, 60), () => this.#follow());
    if (this.isStuck || this.#isRefilling) return;
    const core = random.pick(cores);
    const has = core.table;
    network.send(core.machine, this.machine, () => {
      if (this.isStuck || this.#isRefilling || has <= this.table) return;
      this.table = has;
      this.move(has);
    });
  }

  /** All links come anew, from a core that may be behind. */
  refill(): void {
    if (this.machine.isStopped) return;
    const { random, cores } = this.simulation;
    this.#isRefilling = true;
    this.move(0);
    const { table: has } = random.pick(cores);
    this.machine.after(random.between(1, 300), () => {
      this.table = has;
      this.#isRefilling = false;
      this.move(has);
    });
  }

  /** Killed, with power: its disk has lost the newest changes. */
  restart(): void {
    if (this.machine.isStopped) return;
    this.contact.close();
    this.beats.close();
    this.table = Math.max(0, this.table - this.simulation.random.between(0, 3));
    this.told = this.table;
    this.start();
  }
}

export class ContactSimulation {
  readonly time = new VirtualTime();
  readonly random: Random;
  readonly network: Network;
  readonly broker: Machine;
  readonly log: Uint8Array[] = [];
  readonly cores: Core[] = [];
  readonly edges: Edge[] = [];
  readonly scans = { redirected: 0, refused: 0, older: 0, stale: [] as string[] };
  readonly waitedMs: number[] = [];
  leads = 0;
  /** Of all changes in the log, and of those that were answered. */
  newest = 0;
  answered = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.network = new Network(this.time, this.random);
    this.broker = new Machine(this.time, this.random);
    for (const name of ['a', 'b', 'c']) this.cores.push(new Core(this, name));
    for (const name of ['e', 'f']) this.edges.push(new Edge(this, name));
  }

  async run(ms: number): Promise<SimulationResult> {
    const { time, random } = this;
    const endMs = time.nowMs + ms;
    const chance = (): number => random.next();
    const healMs = 15_000;
    time.every(120, endMs + healMs, chance, () => random.pick(this.cores).change());
    for (const node of [...this.cores, ...this.edges]) {
      time.every(15, endMs + healMs, chance, () => node.scan());
    }
    time.every(900, endMs, chance, () => this.#fault());
    await time.run(endMs);
    this.#heal();
    await time.run(endMs + healMs);
    const { redirected, refused, older, stale } = this.scans;
    return {
      stale,
      changes: this.answered,
      waitedMs: this.waitedMs,
      leads: this.leads,
      redirected,
      refused,
      older,
      refusing: [...this.cores, ...this.edges]
        .filter(({ permission }) => permission.isOver)
        .map(({ name, contact }) => `${name}: ${contact.problem}`),
      lastWaitedMs: this.waitedMs.at(-1) ?? Infinity,
    };
  }

  #fault(): void {
    const { random, time } = this;
    const node = random.pick([...this.cores, ...this.edges]);
    const lastsMs = random.pick([50, 600, 1_900, 2_300, 4_000, 8_000]);
    const edge = random.pick(this.edges);
    const draw = random.next();
    if (draw < 0.35) {
      node.machine.isCut = true;
      time.later(lastsMs, () => {
        node.machine.isCut = false;
      });
    } else if (draw < 0.7) {
      if (node.machine.isStopped) return;
      node.machine.isStopped = true;
      time.later(lastsMs, () => node.machine.resume(random));
    } else if (draw < 0.8) {
      edge.isStuck = true;
      time.later(lastsMs, () => {
        edge.isStuck = false;
      });
    } else if (draw < 0.9) {
      edge.refill();
    } else {
      edge.restart();
    }
  }

  #heal(): void {
    for (const { machine } of [...this.cores, ...this.edges]) {
      machine.isCut = false;
      if (machine.isStopped) machine.resume(this.random);
    }
    for (const edge of this.edges) edge.isStuck = false;
  }
}
