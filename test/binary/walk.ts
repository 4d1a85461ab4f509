/** What the checks of one place share: the service that runs there, and what was made so far. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client, type Json, word } from '../support/client.ts';
import { type MailServer, startMailServer } from '../support/fakes/mail-server.ts';
import { type Behaviour, openReceiver, type Receiver } from '../support/fakes/receiver.ts';
import {
  type CommandResult,
  endOf,
  freePorts,
  ServiceProcess,
  settingsOf,
} from '../support/process.ts';
import type { Ports } from '../support/running-service.ts';
import type { Place } from './place.ts';

/** What is tried: the file that `npm run build` makes, or the sources, the yardstick. */
export type Kind = 'file' | 'sources';

/** Where codes lead. */
export const target = 'https://example.com/menu';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
/** It ends a hang. */
const untilMsMax = 60_000;
const pollMs = 20;

export const payPage = 'https://pay.example.com/1';
const checkoutSession: Behaviour = {
  kind: 'answer',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    id: 'cs_1',
    object: 'checkout.session',
    url: payPage,
    expires_at: Math.round(Date.now() / 1_000) + 86_400,
  }),
};

type Fakes = readonly [Receiver, MailServer, Receiver];

export class Walk {
  readonly kind: Kind;
  readonly place: Place;
  readonly receiver: Receiver;
  readonly mail: MailServer;
  /** Makes a checkout session of whatever it is asked. */
  readonly payments: Receiver;
  readonly #ports: Ports;
  #service: ServiceProcess | undefined;
  #clients: Client[] = [];
  /** Of the first start. */
  apiKey = '';
  /** The code that is scanned, as it was made. */
  code: Json = {};
  /** Of the endpoint at `receiver`. */
  secret = '';

  private constructor(kind: Kind, place: Place, ports: Ports, fakes: Fakes) {
    this.kind = kind;
    this.place = place;
    this.#ports = ports;
    [this.receiver, this.mail, this.payments] = fakes;
  }

  static async open(kind: Kind, place: Place): Promise<Walk> {
    const fakes = await Promise.all([
      openReceiver(),
      startMailServer(),
      openReceiver(checkoutSession),
    ]);
    return new Walk(kind, place, await freePorts(), fakes);
  }

  /** The settings of every start and command, but for the data folder: it is `./data`. */
  get environment(): Record<string, string> {
    const { QZ_DATA_DIR: _, ...settings } = settingsOf({ dataDir: '', ports: this.#ports });
    return {
      ...settings,
      ...this.mail.environment,
      QZ_BILLING_PROVIDER: 'stripe',
      QZ_BILLING_STRIPE_API_BASE: this.payments.origin,
      QZ_BILLING_STRIPE_SECRET_KEY: 'sk_test_1',
      QZ_BILLING_STRIPE_WEBHOOK_SECRET: 'whsec_1',
      QZ_BILLING_STRIPE_PRICES_PRO_MONTH: 'price_1',
      QZ_TRUSTED_PROXIES: '127.0.0.0/8',
      QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
    };
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error('Cannot go on: the service did not start');
    return this.#service;
  }

  get api(): Client {
    return this.#client(this.service.apiUrl, this.apiKey);
  }

  /** `quietzone <args>` until it is ready. */
  async start(args: readonly string[], own: Record<string, string> = {}): Promise<void> {
    this.#service = undefined;
    const service = new ServiceProcess({
      dataDir: join(this.place.folder, own['QZ_DATA_DIR'] ?? 'data'),
      ports: this.#ports,
      start: () => this.place.start(args, { ...this.environment, ...own }),
    });
    await service.ready();
    this.#service = service;
  }

  /** `quietzone <args>` to its end. */
  async command(args: readonly string[], own: Record<string, string> = {}): Promise<CommandResult> {
    return await endOf(this.place.start(args, { ...this.environment, ...own }));
  }

  /** As `command`. @returns what it prints @throws when its exit code is not 0 */
  async done(args: readonly string[], own: Record<string, string> = {}): Promise<string> {
    const { code, signal, stdout, stderr } = await this.command(args, own);
    if (code === 0) return stdout;
    throw new Error(`${args.join(' ')} ended with ${code ?? signal}:\n${stdout}${stderr}`);
  }

  /** @throws when it is not answered with 2xx */
  async post(path: string, body: unknown): Promise<Json> {
    return await this.api.make(`/v1${path}`, body);
  }

  /** Follows the code's link, as a phone at this address. @returns status and target */
  async scan(address: string): Promise<[status: number, location: string | undefined]> {
    const { origin, pathname } = new URL(word(this.code.shortUrl));
    const headers = { 'user-agent': phone, 'x-forwarded-for': address };
    const answer = await this.#client(origin).call('GET', pathname, { headers });
    return [answer.status, answer.headers['location']];
  }

  async scansCounted(): Promise<number> {
    return Number((await this.api.call('GET', `/v1/qr-codes/${word(this.code.id)}`)).json.scans);
  }

  async close(): Promise<void> {
    await this.#service?.kill();
    await Promise.all(this.#clients.map((client) => client.close()));
    await Promise.all([this.receiver, this.mail, this.payments].map((fake) => fake.close()));
    this.place.close();
  }

  #client(url: string, key?: string): Client {
    const client = new Client(url, key);
    this.#clients.push(client);
    return client;
  }
}

/** Waits until it holds. @throws when it never does */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadlineMs = performance.now() + untilMsMax;
  while (!(await holds())) {
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${untilMsMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** @throws when it is not answered with 200 */
export async function bytesOf(url: string, init: RequestInit = {}): Promise<Buffer> {
  const answer = await fetch(url, init);
  assert.equal(answer.status, 200, url);
  return Buffer.from(await answer.arrayBuffer());
}
