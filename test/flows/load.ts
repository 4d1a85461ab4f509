/** Scans and writes against one running service, with the ledger they are compared with afterwards. */
import { compare, type Comparison } from '../crash/comparison.ts';
import { Ledger } from '../crash/ledger.ts';
import { Random } from '../crash/random.ts';
import { Scanners } from '../crash/scanners.ts';
import { Writes } from '../crash/writes.ts';
import { Client } from '../support/client.ts';
import { liftQuota } from '../support/lift-quota.ts';
import { pause, type RunningService } from '../support/process.ts';

const dayMs = 86_400_000;
/** A write or a scan that is not answered by then never is. */
const finishMsMax = 20_000;
/** There is a load: how many are answered in a second depends on the disk and on what else the machine does. */
const answeredMin = 200;
const underWayMsMax = 40_000;

export const trustLoopback = { QZ_TRUSTED_PROXIES: '127.0.0.0/8' };

export class Load {
  readonly ledger = new Ledger();
  readonly #firstDay = Math.floor(Date.now() / dayMs);
  readonly #client: Client;
  readonly #writes: Writes;
  readonly #scanners: Scanners;

  private constructor(service: RunningService, seed: number, perSecond: number) {
    const random = new Random(seed);
    const { ledger } = this;
    this.#client = new Client(service.apiUrl, service.apiKey);
    this.#writes = new Writes(ledger, random.fork());
    this.#writes.start(this.#client);
    const port = service.ports.redirect;
    this.#scanners = new Scanners({ port, ledger, random, connections: 24, perSecond });
  }

  /** As many requests as the machine can: there is no quota. */
  static async start(service: RunningService, seed: number, perSecond: number): Promise<Load> {
    await liftQuota(service.dataDir);
    return new Load(service, seed, perSecond);
  }

  /** Why the newest write got no answer. */
  get writesBrokenBy(): string | undefined {
    return this.#writes.brokenBy;
  }

  /** Resolves once codes are made and scanned. @throws when they are not for long */
  async isUnderWay(): Promise<void> {
    const deadlineMs = performance.now() + underWayMsMax;
    while (this.ledger.answered < answeredMin) {
      if (performance.now() > deadlineMs) {
        throw new Error(`Cannot load: ${this.ledger.answered} scans in ${underWayMsMax} ms`);
      }
      await pause(20);
    }
  }

  /** Ends the writes; scanning goes on. */
  async stopWrites(): Promise<void> {
    await this.#writes.stop();
    await this.#client.close();
  }

  /** Ends the scanning; @returns how many requests got no answer */
  async stopScans(): Promise<number> {
    return await this.#scanners.finish(finishMsMax);
  }

  /** Once the service has ended. */
  async compare(dataDir: string): Promise<Comparison> {
    const days = { first: this.#firstDay, last: Math.floor(Date.now() / dayMs) };
    return await compare(this.ledger, dataDir, days);
  }
}
