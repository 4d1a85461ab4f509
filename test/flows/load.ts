/** Scans and writes against one running service, with the ledger they are compared with afterwards. */
import { expect } from 'vitest';
import { Client } from '../support/client.ts';
import { liftQuota } from '../support/process.ts';
import type { RunningService } from '../support/running-service.ts';
import { eventually } from '../support/soon.ts';
import { Random } from '../torture/random.ts';
import { Clients, ofOneMachine } from '../torture/clients.ts';
import { compare, type Comparison, today } from '../torture/comparison.ts';
import { Ledger } from '../torture/ledger.ts';
import { Phones } from '../torture/phones.ts';
import { View } from '../torture/view.ts';

/** A write or a scan that is not answered by then never is. */
const finishMsMax = 20_000;
/** There is a load: how many are answered in a second depends on the disk and on what else the machine does. */
const answeredMin = 200;

export const trustLoopback = { QZ_TRUSTED_PROXIES: '127.0.0.0/8' };

export class Load {
  readonly ledger = new Ledger();
  readonly #firstDay = today();
  readonly #service: RunningService;
  /** Not the service's own, which closes before a stop. */
  readonly #client: Client;
  readonly #clients: Clients;
  readonly #phones: Phones;

  private constructor(service: RunningService, seed: number, perSecond: number) {
    const random = new Random(seed);
    const { ledger } = this;
    this.#service = service;
    const view = new View(ledger);
    this.#client = new Client(service.apiUrl, service.apiKey);
    const door = { name: 'the API', client: this.#client };
    this.#clients = new Clients({
      ...ofOneMachine,
      ledger,
      random: random.fork(),
      views: [view],
      pick: () => door,
    });
    const port = service.ports.redirect;
    this.#phones = new Phones({ port, view, random, connections: 24, perSecond });
  }

  /** As many requests as the machine can: there is no quota. */
  static async start(service: RunningService, seed: number, perSecond: number): Promise<Load> {
    await liftQuota(service.dataDir);
    return new Load(service, seed, perSecond);
  }

  /** What broke the first write that got no answer. */
  get writesBrokenBy(): string | undefined {
    return this.#clients.brokenBy;
  }

  /** Resolves once codes are made and scanned. @throws when they are not for long */
  async isUnderWay(): Promise<void> {
    await eventually(() => this.ledger.answered >= answeredMin, 'codes are made and scanned');
  }

  /** Ends the writes; scanning goes on. */
  async stopWrites(): Promise<void> {
    await this.#clients.abandon();
    await this.#client.close();
  }

  /** Ends the scanning; @returns how many requests got no answer */
  async stopScans(): Promise<number> {
    await this.#phones.finish(finishMsMax);
    return this.#phones.unanswered;
  }

  /** Once the service has ended: nothing is lost or doubled. @returns scans that were answered, and counted */
  async expectKept(): Promise<Pick<Comparison, 'answered' | 'counted'>> {
    const comparison = await compare(this.ledger, this.#service.dataDir, this.#firstDay);
    expect(comparison).toMatchObject({ notes: [], lost: 0, duplicated: 0, writesLost: 0 });
    return comparison;
  }
}
