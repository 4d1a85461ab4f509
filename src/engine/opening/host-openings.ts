/**
 * The running service's side of an opening (data-files-opening.ts): while another process opens the data files, no commit is
 * under way. Redirects continue; changes and shards wait for some milliseconds.
 *
 * The main thread releases the locks, so it must never wait for them: a service that takes back from a successor opens and
 * writes delivery.mdb on it. From a yield on nothing is held.
 */
import { Worker } from 'node:worker_threads';
import { shipped } from '../../shipped.ts';
import type { Logger } from '../../telemetry/log.ts';
import { storesOf } from '../data-files.ts';
import type { DataFolder } from '../data-folder.ts';
import { killOther, pidNamespace } from '../takeover/kill-other.ts';
import type { OpenMessage } from '../takeover/messages.ts';
import type { SuccessorChannel } from '../takeover/successor-connection.ts';
import type { HoldSetup } from './hold.worker.ts';

export class HostedOpenings {
  readonly #folder: DataFolder;
  readonly #log: Logger;
  readonly #openMsMax: number;
  #hold: Hold | undefined;
  #last: Promise<void> = Promise.resolve();
  #isPaused = false;
  #isFailing = false;
  #isClosed = false;

  constructor(folder: DataFolder, log: Logger, openMsMax: number) {
    this.#folder = folder;
    this.#log = log;
    this.#openMsMax = openMsMax;
  }

  /** Holds the files from `held` to the end of the connection, for one process after the other. */
  admit(channel: SuccessorChannel, message: OpenMessage): void {
    this.#last = this.#last
      .then(() => this.#admit(channel, message))
      .catch((err: unknown) => {
        // It tries again, some times a second.
        if (!this.#isFailing) this.#log.error({ err }, 'the data files cannot be held for others');
        this.#isFailing = true;
        channel.sendLast(refused);
      });
  }

  /** Refuses openings until `resume`; they retry. Resolves when nothing is held. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#last;
  }

  resume(): void {
    this.#isPaused = false;
  }

  async #admit(channel: SuccessorChannel, message: OpenMessage): Promise<void> {
    if (this.#isPaused || this.#isClosed) return channel.sendLast(refused);
    if (channel.isClosed) return;
    const { pid, pidNamespace: namespace } = message;
    const log = this.#log.child({ pid });
    const hold = new Hold(this.#folder, 2 * this.#openMsMax);
    this.#hold = hold;
    await hold.taken;
    this.#isFailing = false;
    channel.send({ type: 'held' });
    const late = setTimeout(() => {
      log.error('a process that opens the data files did not do so in time');
      if (namespace === pidNamespace()) killOther('process', pid, log);
      // Also if it cannot be killed, as a process of root: a service that never writes again would be worse.
      channel.destroy();
    }, this.#openMsMax);
    await channel.closed;
    clearTimeout(late);
    await hold.release();
  }

  /** Before the process ends: a lock whose thread dies would be held forever. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#hold?.release();
  }
}

const refused = {
  type: 'refused',
  reason: 'the service is stopping or being upgraded; try again',
} as const;

/** The writer's locks of all data files. */
class Hold {
  readonly taken: Promise<void>;
  readonly #released = new Int32Array(new SharedArrayBuffer(4));
  readonly #ended: Promise<unknown>;

  constructor(folder: DataFolder, msMax: number) {
    const workerData: HoldSetup = { paths: storesOf(folder), released: this.#released, msMax };
    const worker = new Worker(shipped.workerFile('hold'), { workerData });
    this.#ended = new Promise((resolve) => worker.once('exit', resolve));
    this.taken = new Promise((resolve, reject) => {
      worker.once('message', () => resolve());
      worker.once('error', reject);
      worker.once('exit', () => resolve());
    });
  }

  async release(): Promise<void> {
    Atomics.store(this.#released, 0, 1);
    Atomics.notify(this.#released, 0);
    await this.#ended;
  }
}
