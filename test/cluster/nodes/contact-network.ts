/** Machines whose clocks differ in speed and that are stopped or cut off, and the messages between them. */
import type { Timers } from '../../../src/model/clock.ts';
import type { Random } from '../../crash/random.ts';
import type { VirtualTime } from '../simulation/virtual-time.ts';

/** Of the fastest clock against the slowest. */
const speedRatioMax = 1.05;

type Listener = (bytes: Uint8Array, subject: string, respond: (bytes: Uint8Array) => void) => void;

/** One machine: its clock, and that it may be stopped. */
export class Machine implements Timers {
  readonly #time: VirtualTime;
  readonly #speed: number;
  readonly #offsetMs: number;
  #held: Array<() => void> = [];
  isStopped = false;
  isCut = false;

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#speed = speedRatioMax ** (random.next() - 0.5);
    this.#offsetMs = random.between(0, 1_000_000);
  }

  monotonicMs(): number {
    return this.#offsetMs + this.#speed * this.#time.nowMs;
  }

  readonly nanoseconds = (): bigint => BigInt(Math.round(this.monotonicMs() * 1e6));

  after(ms: number, run: () => void): () => void {
    let isCancelled = false;
    this.#time.later(ms / this.#speed, () => this.do(() => isCancelled || run()));
    return () => {
      isCancelled = true;
    };
  }

  /** Now, or when it goes on. */
  do(run: () => void): void {
    if (this.isStopped) this.#held.push(run);
    else run();
  }

  resume(random: Random): void {
    this.isStopped = false;
    const held = this.#held;
    this.#held = [];
    // What was due meanwhile comes in any order.
    while (held.length > 0) this.do(held.splice(random.between(0, held.length), 1)[0]!);
  }
}

/** Each message takes its own way, and its own time. */
export class Network {
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #listeners = new Set<{ of: Machine; pattern: RegExp; call: Listener }>();

  constructor(time: VirtualTime, random: Random) {
    this.#time = time;
    this.#random = random;
  }

  /** @param deliver runs on `to` unless one of the two is cut off then */
  send(from: Machine, to: Machine, deliver: () => void): void {
    if (from.isCut || this.#random.chance(0.01)) return;
    const isLate = this.#random.chance(0.03);
    this.#time.later(this.#random.between(1, isLate ? 1_500 : 30), () => {
      if (!from.isCut && !to.isCut) to.do(deliver);
    });
  }

  connection(of: Machine) {
    const listen = (subject: string, call: Listener): (() => void) => {
      const pattern = new RegExp(`^${subject.replaceAll('*', '[^.]+')}$`);
      const listener = { of, pattern, call };
      this.#listeners.add(listener);
      return () => void this.#listeners.delete(listener);
    };
    const publish = (
      subject: string,
      bytes: Uint8Array,
      answered: (bytes: Uint8Array) => void = () => undefined,
    ): void => {
      for (const { of: to, pattern, call } of this.#listeners) {
        const respond = (answer: Uint8Array): void => this.send(to, of, () => answered(answer));
        if (pattern.test(subject)) this.send(of, to, () => call(bytes, subject, respond));
      }
    };
    return {
      publish,
      subscribe: (subject: string, call: (bytes: Uint8Array, subject: string) => void) =>
        listen(subject, call),
      request: (subject: string, bytes: Uint8Array, withinMs: number): Promise<Uint8Array> =>
        new Promise((resolve, reject) => {
          publish(subject, bytes, resolve);
          of.after(withinMs, () => reject(new Error('no answer')));
        }),
      answer: (
        subject: string,
        answer: (bytes: Uint8Array, subject: string) => Promise<Uint8Array | undefined>,
      ) =>
        listen(subject, (bytes, at, respond) => {
          void answer(bytes, at).then((given) => given && respond(given));
        }),
    };
  }
}
