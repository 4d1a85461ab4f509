/**
 * A service that can be taken over: it closes its services for a successor, step by step (messages.ts has the order).
 *
 *   yield     the API and the services close, shards count what is journaled: only redirects are left
 *   finish    redirect threads stop listening and sync their journals; open connections are sent to new ones
 *   ended     the process exits when its connections are closed
 */
import type { ServiceFolder } from '../folder/service-folder.ts';
import { messageOf } from '../../model/failure.ts';
import { portsOf } from '../machine/start-checks.ts';
import type { TakeoverHost } from './host-takeovers.ts';
import { type Base, dataVersions } from '../modules.ts';
import type { Engine } from '../open-engine.ts';
import { shipped } from '../../platform/shipped.ts';
import type { Services } from '../services.ts';

/** Longest time of only redirecting: after it, a successor is missing or hangs. */
const yieldedMsMax = 60_000;

interface RunningServiceOptions {
  readonly base: Base;
  readonly engine: Engine;
  readonly service: ServiceFolder;
  /** Closed by this class. */
  readonly services: Services;
}

export class RunningService implements TakeoverHost {
  readonly release = shipped.version;
  readonly dataVersions = dataVersions;
  readonly #options: RunningServiceOptions;
  #closing: Promise<void> | undefined;
  #yielding: Promise<void> | undefined;
  #hasYielded = false;
  #isStopping = false;
  #yieldedTimer: NodeJS.Timeout | undefined;
  readonly #takenOver = Promise.withResolvers<void>();
  readonly #abandoned = Promise.withResolvers<void>();

  constructor(options: RunningServiceOptions) {
    this.#options = options;
  }

  /** Resolves when the process may exit. */
  get takenOver(): Promise<void> {
    return this.#takenOver.promise;
  }

  /** Resolves when this process only redirects and has no successor. */
  get failed(): Promise<void> {
    return this.#abandoned.promise;
  }

  get journals(): readonly number[] {
    return this.#options.engine.threads.journals.own;
  }

  get ports(): readonly number[] {
    return portsOf(this.#options.base.config).map(({ port }) => port);
  }

  get refusal(): string | undefined {
    if (this.#isStopping) return 'the running service is stopping';
    const { base, engine } = this.#options;
    // Scans that wait for the disk would be lost with this process.
    const isFull = base.management.environment.isFull || engine.threads.redirects.waitingScans > 0;
    return isFull ? 'the disk of the data folder is full' : undefined;
  }

  get hasYielded(): boolean {
    return this.#hasYielded;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#yieldedTimer);
    await this.#closeServices();
  }

  yield(): Promise<void> {
    clearTimeout(this.#yieldedTimer);
    this.#yieldedTimer = setTimeout(() => {
      this.#abandon('no successor is serving, exiting for a restart');
    }, yieldedMsMax);
    return (this.#yielding ??= this.#yield());
  }

  /** The successor repairs failures here: its shards count from the journals, its services read the stores. */
  async #yield(): Promise<void> {
    const { base, engine } = this.#options;
    const failed = (err: unknown): void => base.log.error({ err }, 'yielding failed in part');
    await this.#closeServices().catch(failed);
    await engine.threads.stopCounting().catch(failed);
    this.#hasYielded = true;
  }

  async finish(): Promise<void> {
    clearTimeout(this.#yieldedTimer);
    const { threads } = this.#options.engine;
    threads.cancelStop();
    await threads.redirects.handOver();
  }

  ended(): void {
    this.#takenOver.resolve();
  }

  orphaned(): void {
    const failed = (error: unknown): void => this.#abandon(`${messageOf(error)}: exiting`);
    this.#options.service.lockAgain().catch(failed);
  }

  #abandon(reason: string): void {
    this.#options.base.log.fatal(reason);
    this.#abandoned.resolve();
  }

  #closeServices(): Promise<void> {
    return (this.#closing ??= this.#options.services.close());
  }
}
