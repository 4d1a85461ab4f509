/** What tests ask of a service that runs, in this process or in one of its own. */
import { type CallOptions, Client, type Json, word } from './client.ts';

export interface Ports {
  readonly api: number;
  readonly redirect: number;
}

/** Third of a block (`freePorts`). */
export const metricsPortOf = (api: number): number => api + 2;

/** One line of the service's log. */
export interface LogEntry {
  readonly level: string;
  readonly msg: string;
  readonly [key: string]: unknown;
}

/**
 * What any test may log: on a busy machine shards need more than five seconds, and its short links are local.
 */
export const everyStart = /^(shards are still counting|short links begin with)/;

/** The agent of a person: bots are not counted as scans. */
const person = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Firefox/126.0' };

export abstract class RunningService {
  abstract readonly dataDir: string;
  abstract readonly ports: Ports;
  abstract readonly apiKey: string;
  abstract readonly stderr: string;
  /** The certificate of its ports, where they have one. */
  protected ca: string | undefined;
  #api: Client | undefined;
  #links: Client | undefined;

  get apiUrl(): string {
    return `http://127.0.0.1:${this.ports.api}`;
  }

  get redirectUrl(): string {
    return `http://127.0.0.1:${this.ports.redirect}`;
  }

  /** With the owner's key. */
  get api(): Client {
    return (this.#api ??= new Client(this.apiUrl, this.apiKey, this.ca));
  }

  /** Of short links. */
  get links(): Client {
    return (this.#links ??= new Client(this.redirectUrl, undefined, this.ca));
  }

  /** A service that stops waits for connections that are open: first the clients of this one close. */
  async closeClients(): Promise<void> {
    await this.#api?.close();
    await this.#links?.close();
    this.#api = undefined;
    this.#links = undefined;
  }

  /** A code that leads to https://example.com/ where the fields say nothing else. @throws when it is refused */
  async makeCode(fields: object = {}): Promise<Json> {
    return await this.api.make('/v1/qr-codes', { target: 'https://example.com/', ...fields });
  }

  /** Scans a short link. @throws when one of the scans is not redirected */
  async scan(slug: string, times = 1, headers: CallOptions['headers'] = person): Promise<void> {
    for (let time = 0; time < times; time++) {
      const { status } = await this.links.get(`/${slug}`, { headers });
      if (status !== 302) throw new Error(`Cannot scan ${slug}: ${status}`);
    }
  }

  /** The scans of a code that are counted. */
  async scansOf({ id }: Json): Promise<number> {
    return Number((await this.api.get(`/v1/qr-codes/${word(id)}`)).json.scans);
  }

  /** Also while it starts, and where nobody knows its key. */
  async isReady(): Promise<boolean> {
    const anyone = new Client(this.apiUrl);
    const answer = await anyone.get('/health/ready').catch(() => undefined);
    await anyone.close();
    return answer?.status === 200;
  }

  async metrics(): Promise<string> {
    return await readMetrics(this.apiUrl);
  }

  /** A metric's sum over its labels, or over those that are named as in `{kind="shard"}`. @throws where it is not counted */
  async metric(name: string): Promise<number> {
    const lines = (await this.metrics()).split('\n');
    const found = lines.filter(
      (line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`),
    );
    if (found.length === 0) throw new Error(`There is no metric ${name}`);
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }

  /** Every line that it logged. @throws when a line is not one JSON object with level and message */
  get logEntries(): LogEntry[] {
    return entriesOf(this.stderr);
  }

  /** Its warnings and errors, without those of `everyStart`. */
  get complaints(): LogEntry[] {
    return this.logEntries.filter(({ level, msg }) => level !== 'info' && !everyStart.test(msg));
  }
}

/** What the service at an address of the API counts. */
export async function readMetrics(apiUrl: string, init?: RequestInit): Promise<string> {
  const port = metricsPortOf(Number(new URL(apiUrl).port));
  return await (await fetch(`http://127.0.0.1:${port}/metrics`, init)).text();
}

/** @throws when a line is not one JSON object with level and message */
export function entriesOf(log: string): LogEntry[] {
  const lines = log.split('\n').filter((line) => line !== '');
  return lines.map((line) => {
    const entry: LogEntry = JSON.parse(line);
    if (typeof entry.level !== 'string' || typeof entry.msg !== 'string') {
      throw new Error(`A log line without level and message: ${line}`);
    }
    return entry;
  });
}
