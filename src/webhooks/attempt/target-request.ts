/**
 * Requests that check a target: HEAD or GET, with the address guard, the lookups and the bounds of an attempt.
 *
 * - A request reads and reports the status alone: no body, no duration. It follows no redirect.
 * - It names itself and a page that explains it. It sends no cookie and no credentials.
 */
import type { Clock } from '../../model/clock.ts';
import type { TargetAnswer } from '../../model/watches/watch.ts';
import { Attempts } from './attempt.ts';
import type { NameLookup } from './name-lookup.ts';

const timeoutMsStandard = 10_000;
const connectionsMax = 16;

export interface TargetRequestSettings {
  /** CIDR blocks that override the deny lists. */
  readonly allowNetworks: readonly string[];
  /** The page about these requests, named in the User-Agent. */
  readonly docsUrl: string;
  readonly timeoutMs?: number;
}

export interface TargetRequest {
  readonly method: 'HEAD' | 'GET';
  readonly url: string;
}

interface TargetRequestsOptions {
  readonly settings: TargetRequestSettings;
  readonly clock: Clock;
  readonly names: NameLookup;
}

export class TargetRequests {
  readonly #attempts: Attempts;
  readonly #headers: readonly string[];

  constructor({ settings, clock, names }: TargetRequestsOptions) {
    const { timeoutMs = timeoutMsStandard, docsUrl } = settings;
    this.#attempts = new Attempts({
      settings: { ...settings, timeoutMs, connectionsMax },
      clock,
      names,
    });
    this.#headers = ['User-Agent', `Quietzone-Check/1 (+${docsUrl})`, 'Accept', '*/*'];
  }

  /** Never rejects. */
  async send({ method, url }: TargetRequest): Promise<TargetAnswer> {
    const { status, failure } = await this.#attempts.ask(url, method, this.#headers);
    if (status !== undefined) return { status };
    return { failure: failure ?? 'unknown' };
  }

  close(): void {
    this.#attempts.close();
  }
}
