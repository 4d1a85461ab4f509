/**
 * The running service's side of a takeover (engine/takeover/messages.ts has the order, and the states of both sides).
 *
 *   yield      webhooks, schedulers -> changes of management.mdb -> shards -> limits are taken: each ends before the next
 *   finish     redirect threads hand over and sync their journals, while the API closes
 *   takeBack   lock -> the successor's journals and changes -> shards count -> limits -> redirects listen -> services
 *
 * Redirects never stop: this process answers until the successor listens, then only on open connections, for `drainMs`.
 */
import type { ServiceFolder } from './engine/installation/service-folder.ts';
import { portsOf } from './engine/start-checks.ts';
import type { Limits, Tails } from './engine/takeover/messages.ts';
import type { TakeoverHost } from './engine/takeover/successor-connection.ts';
import { dataVersions } from './modules.ts';
import { shipped } from './shipped.ts';
import { openServices, type Services, type ServicesOptions } from './services.ts';

const drainMs = 10_000;

interface HostOptions extends ServicesOptions {
  readonly service: ServiceFolder;
}

type State =
  | 'serving'
  /** From the successor's `ready` until it listens; its death leads to `taking back`. */
  | 'yielding'
  | 'taking back'
  /** Answers the last redirects; the successor's death still leads to `taking back`. */
  | 'finishing'
  | 'ended'
  /** After a signal. A request of a successor waits until this process has ended. */
  | 'stopping';

export class RunningService implements TakeoverHost {
  readonly release = shipped.version;
  readonly dataVersions = dataVersions;
  readonly #options: HostOptions;
  #state: State = 'serving';
  #services: Services;
  #closing: Promise<void> | undefined;
  readonly #takenOver = Promise.withResolvers<void>();
  /** Resolves when the state is `serving` again, or `ended`. */
  #settled = Promise.withResolvers<void>();

  private constructor(options: HostOptions, services: Services) {
    this.#options = options;
    this.#services = services;
  }

  /** @throws ListenError */
  static async open(options: HostOptions): Promise<RunningService> {
    return new RunningService(options, await openServices(options));
  }

  /** Resolves when the process has nothing left to do. */
  get takenOver(): Promise<void> {
    return this.#takenOver.promise;
  }

  get apiPort(): number {
    return this.#services.apiPort;
  }

  get journals(): readonly number[] {
    return this.#options.engine.threads.journals.own;
  }

  get ports(): readonly number[] {
    return portsOf(this.#options.base.config).map(({ port }) => port);
  }

  get refusal(): string | undefined {
    if (this.#state !== 'serving') return `the running service is ${this.#state}`;
    // A third process would use the first one's journals.
    if (this.#options.service.predecessor?.isWriting !== true) return undefined;
    return 'the running service has just taken over, and its predecessor still answers open connections; try again in 10 s';
  }

  /** Waits for the end of a takeover, successful or not. */
  async stop(): Promise<void> {
    while (!['serving', 'ended', 'stopping'].includes(this.#state)) {
      await this.#settled.promise;
    }
    if (this.#state === 'serving') this.#state = 'stopping';
    await this.#closeServices();
  }

  async yield(): Promise<{ readonly limits: Limits; readonly tails: Tails }> {
    if (this.#state !== 'serving') return await never;
    this.#state = 'yielding';
    const { base, engine } = this.#options;
    await this.#services.endWork();
    await base.management.environment.hold();
    await engine.threads.stopCounting();
    engine.threads.redirects.freezeLimits();
    return { limits: engine.codes.links.takeLimits(), tails: this.tails() };
  }

  tails(): Tails {
    return this.#options.engine.threads.journals.ownTails();
  }

  async follow(): Promise<void> {
    await this.#options.engine.refresher.refresh();
  }

  /** Redirect threads stay, because this process may take back until the successor knows of its end. */
  async finish(): Promise<{ readonly tails: Tails; readonly lostScans: number }> {
    const { redirects } = this.#options.engine.threads;
    this.#state = 'finishing';
    await Promise.all([redirects.handOver(drainMs), this.#closeServices()]);
    return { tails: this.tails(), lostScans: redirects.waitingScans };
  }

  async takeBack(): Promise<void> {
    if (this.#state !== 'yielding' && this.#state !== 'finishing') return;
    this.#state = 'taking back';
    const { base, service, engine } = this.#options;
    const { threads, codes, refresher } = engine;
    await threads.folder.whenInPlace();
    await service.lockAgain();
    threads.journals.recoverOthers();
    base.management.environment.release();
    await refresher.refresh();
    // False if the yield failed early.
    if (!threads.isCounting) {
      void threads.shards.boot();
      await threads.startCounting();
      codes.links.reloadLimited();
    }
    await threads.redirects.resume();
    // On a full disk some writes fail, but everything closes.
    await this.#closeServices().catch((err: unknown) => {
      base.log.error({ err }, 'the API and its schedulers were not closed cleanly');
    });
    this.#closing = undefined;
    threads.cancelStop();
    this.#services = await openServices(this.#options);
    this.#state = 'serving';
    this.#settled.resolve();
    this.#settled = Promise.withResolvers();
  }

  ended(): void {
    this.#state = 'ended';
    this.#settled.resolve();
    this.#takenOver.resolve();
  }

  #closeServices(): Promise<void> {
    return (this.#closing ??= this.#services.close());
  }
}

/** For a successor that asks while this service stops: it sees the end of this process. */
const never = new Promise<never>(() => undefined);
