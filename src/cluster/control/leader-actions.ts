/** What a leader does for an operator: it hands the lead over, and removes a node. */
import { Failure } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import type { Leader } from '../log/entry.ts';
import type { Beats } from '../nodes/beats.ts';
import type { Registry } from '../nodes/registry.ts';
import { nodeOf } from './cluster-status.ts';

/** Three leases: if the named node does not take the lead, another one does. */
const handedOverMsMax = 10_000;
const pollMs = 10;

export interface HandoverResult {
  /** The node that leads now. */
  readonly leader: string;
  /** From the request until that node leads. */
  readonly ms: number;
}

export interface LeaveResult {
  readonly name: string;
  /** Of all its registrations: the cluster keeps them. */
  readonly journals: readonly number[];
}

export interface LeaderActionsOptions {
  readonly self: Leader;
  readonly nodes: Pick<Registry, 'find' | 'journalsOf' | 'remove'>;
  readonly beats: Pick<Beats, 'connected' | 'instanceOf'>;
  /** Resolves when this process no longer leads. @param to an owner; absent = any */
  readonly release: (to?: string) => Promise<void>;
  readonly leader: () => Leader | undefined;
  readonly timers: Timers;
}

export class LeaderActions {
  readonly #options: LeaderActionsOptions;

  constructor(options: LeaderActionsOptions) {
    this.#options = options;
  }

  /** Resolves when another node leads. @throws Failure not_found, conflict, not_active */
  async handOver(to: string | undefined): Promise<HandoverResult> {
    const { timers, release } = this.#options;
    const owner = to === undefined ? this.#assertAnother() : this.#ownerOf(to);
    const startedMs = timers.monotonicMs();
    void release(owner);
    for (;;) {
      await new Promise<void>((resolve) => void timers.after(pollMs, resolve));
      const ms = Math.round(timers.monotonicMs() - startedMs);
      const leader = this.#options.leader();
      if (leader !== undefined && leader.owner !== this.#options.self.owner) {
        return { leader: nodeOf(leader), ms };
      }
      if (ms >= handedOverMsMax) {
        throw new Failure(
          'not_active',
          `This core gave the lead away, and no other core took it within ${handedOverMsMax / 1_000} s`,
        );
      }
    }
  }

  /** @throws Failure not_found, conflict */
  async leave(name: string): Promise<LeaveResult> {
    const { nodes, beats } = this.#options;
    const journals = nodes.journalsOf(name);
    if (nodes.find(name) === undefined) throw unknown(name);
    if (beats.instanceOf(name) !== undefined) {
      throw new Failure('conflict', `Cannot leave ${name} out: it is connected; stop it first`);
    }
    if (!(await nodes.remove(name))) throw unknown(name);
    return { name, journals };
  }

  #assertAnother(): undefined {
    const others = this.#options.beats.connected();
    if (others.some(({ role }) => role !== 'edge')) return undefined;
    throw new Failure('conflict', 'Cannot hand over: no other core is connected');
  }

  #ownerOf(to: string): string {
    const { nodes, beats, self } = this.#options;
    const node = nodes.find(to);
    if (node === undefined) throw unknown(to);
    if (node.role === 'edge') throw refused(to, 'it is an edge, which cannot lead');
    if (to === nodeOf(self)) throw refused(to, 'it leads now');
    const instance = beats.instanceOf(to);
    if (instance === undefined) throw refused(to, 'it is not connected');
    return `${to}.${instance}`;
  }
}

const refused = (to: string, why: string): Failure =>
  new Failure('conflict', `Cannot hand over to ${to}: ${why}`);

const unknown = (name: string): Failure =>
  new Failure('not_found', `The cluster has no node ${name === '' ? 'without a name' : name}`);
