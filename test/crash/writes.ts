/**
 * The managing side of the load: codes are created, led elsewhere and deleted through the API, one write
 * at a time, and each 2xx goes into the ledger. A write whose answer never came is pending: `resolve`
 * asks the restarted service whether it happened, a create by sending it again under the same
 * Idempotency-Key, which must never make a second code.
 */
import type { Answer, Client } from '../support/client.ts';
import { type CodeEntry, leadingTo, type Ledger, targetNumber } from './ledger.ts';
import type { Random } from './random.ts';

/** Between two writes, once there are codes enough: most of the load is scans. */
const betweenMs = 40;
const codesMin = 12;
const shares = { create: 0.15, delete: 0.1 };

type Pending =
  | { readonly kind: 'create' | 'delete'; readonly code: CodeEntry }
  | { readonly kind: 'target'; readonly code: CodeEntry; readonly target: number };

export type Caller = Pick<Client, 'call'>;

export class Writes {
  readonly #ledger: Ledger;
  readonly #random: Random;
  #pending: Pending | undefined;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();
  /** Why the last write got no answer. */
  brokenBy: string | undefined;

  constructor(ledger: Ledger, random: Random) {
    this.#ledger = ledger;
    this.#random = random;
  }

  /** Settles what the last kill left open, then writes until `stop`. */
  start(client: Caller): void {
    this.#isStopping = false;
    this.#running = this.#run(client);
  }

  /** Resolves when writing has ended: by `stop`, or because the service is gone. */
  get ended(): Promise<void> {
    return this.#running;
  }

  /** Resolves once no write is under way. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#running;
  }

  /** Asks what became of the write that was in flight at the kill. */
  async resolve(client: Caller): Promise<void> {
    const pending = this.#pending;
    if (pending === undefined) return;
    if (pending.kind === 'create') return this.#create(client, pending.code);
    const { code } = pending;
    const answer = await client.call('GET', `/v1/qr-codes/${code.id}`);
    this.#pending = undefined;
    if (pending.kind === 'delete') {
      if (answer.status === 404) return this.#deleted(code);
      code.state = 'live';
    }
    if (answer.status !== 200) {
      return this.#ledger.note(`${code.path} answers ${answer.status}, expected 200`);
    }
    const found = resourceOf(answer).target;
    const target = targetNumber(code, found);
    if (target === code.targetAcknowledged) return;
    if (pending.kind === 'target' && target === pending.target) {
      return this.#targetChanged(code, target);
    }
    this.#ledger.note(`${code.path} leads to ${found} after the restart`);
  }

  async #run(client: Caller): Promise<void> {
    try {
      await this.resolve(client);
      while (!this.#isStopping) {
        await this.#write(client);
        if (this.#ledger.codes.length >= codesMin) await pause(betweenMs);
      }
    } catch (error) {
      // The service was killed: the write stays pending.
      const code = systemCodeOf(error);
      if (!brokenConnection.test(code)) throw error;
      this.brokenBy = code;
    }
  }

  async #write(client: Caller): Promise<void> {
    const live = this.#ledger.codes.filter(({ state }) => state === 'live').slice(-40);
    const draw = this.#random.next();
    if (live.length < codesMin || draw < shares.create) {
      return this.#create(client, this.#ledger.addCode());
    }
    const code = this.#random.pick(live);
    if (draw < shares.create + shares.delete) return this.#delete(client, code);
    const target = ++code.targetSent;
    this.#pending = { kind: 'target', code, target };
    const body = leadingTo(code, target);
    const answer = await client.call('PATCH', `/v1/qr-codes/${code.id}`, { body });
    this.#pending = undefined;
    if (answer.status === 200) this.#targetChanged(code, target);
    else this.#refused(answer.status, code);
  }

  async #create(client: Caller, code: CodeEntry): Promise<void> {
    this.#pending = { kind: 'create', code };
    const answer = await client.call('POST', '/v1/qr-codes', {
      body: {
        ...leadingTo(code, 0),
        slug: code.path.slice(1),
        name: `code ${code.number}`,
      },
      headers: { 'idempotency-key': `create-${code.number}` },
    });
    this.#pending = undefined;
    if (answer.status !== 201) return this.#refused(answer.status, code);
    code.id = resourceOf(answer).id;
    code.state = 'live';
    this.#ledger.acknowledged++;
  }

  async #delete(client: Caller, code: CodeEntry): Promise<void> {
    code.state = 'deleting';
    this.#pending = { kind: 'delete', code };
    const answer = await client.call('DELETE', `/v1/qr-codes/${code.id}`);
    this.#pending = undefined;
    if (answer.status === 200) return this.#deleted(code);
    code.state = 'live';
    this.#refused(answer.status, code);
  }

  #targetChanged(code: CodeEntry, target: number): void {
    code.targetAcknowledged = target;
    code.changes.push(target);
    this.#ledger.acknowledged++;
  }

  #deleted(code: CodeEntry): void {
    code.state = 'deleted';
    this.#ledger.acknowledged++;
  }

  #refused(status: number, code: CodeEntry): void {
    this.#ledger.note(`a write to ${code.path} (${code.state}) was answered ${status}`);
  }
}

const resourceOf = ({ text }: Answer): { id: string; target: string } => JSON.parse(text);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What undici and the kernel say when the other side dies. */
const brokenConnection = /^(UND_ERR_SOCKET|UND_ERR_DESTROYED|ECONNRESET|ECONNREFUSED|EPIPE)$/;

const systemCodeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';
