/** A small client of the management API over undici: JSON in, status, headers and JSON out. */
import { Agent, request } from 'undici';

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly bytes: Buffer;
  /** The body as JSON; empty when it is not JSON. */
  readonly json: Json;
  /** `data` of a list. */
  readonly items: readonly Json[];
  /** `errors` of a problem. */
  readonly faults: ReadonlyArray<{ readonly [key: string]: string }>;
}

/** Whatever JSON holds: tests look into it freely. */
export interface Json {
  readonly [key: string]: Json;
}

export interface CallOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  /** Sent as it is, in place of `body`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Requests by their method; a body is JSON. */
export abstract class Caller {
  abstract call(method: string, path: string, options?: CallOptions): Promise<Answer>;

  async get(path: string, options?: CallOptions): Promise<Answer> {
    return await this.call('GET', path, options);
  }
  async post(path: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    return await this.call('POST', path, { ...options, body });
  }
  /** As `post`. @returns the answer's JSON @throws unless the answer is 2xx */
  async make(path: string, body: unknown): Promise<Json> {
    const { status, json, text } = await this.post(path, body);
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
    return json;
  }
  async patch(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return await this.call('PATCH', path, { ...options, body });
  }
  async put(path: string, body: unknown, options?: CallOptions): Promise<Answer> {
    return await this.call('PUT', path, { ...options, body });
  }
  async delete(path: string, options?: CallOptions): Promise<Answer> {
    return await this.call('DELETE', path, options);
  }
}

export class Client extends Caller {
  /**
   * uWS ends idle connections after 8 to 12 s. Above a second undici counts by ticks, which come late on a busy machine:
   * a request could be written on a connection that is being closed.
   */
  readonly #agent: Agent;
  readonly #url: string;
  readonly #key: string | undefined;

  /** @param ca the certificate that it trusts */
  constructor(url: string, key?: string, ca?: string) {
    super();
    this.#agent = new Agent({ pipelining: 1, keepAliveTimeout: 1_000, connect: { ca } });
    this.#url = url;
    this.#key = key;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const key = 'key' in options ? options.key : this.#key;
    const raw = options.raw ?? (options.body === undefined ? null : JSON.stringify(options.body));
    const response = await request(`${this.#url}${path}`, {
      method,
      dispatcher: this.#agent,
      body: raw,
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(raw === null ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
    });
    const bytes = Buffer.from(await response.body.arrayBuffer());
    const text = bytes.toString();
    const headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    );
    const isPlain = headers['content-encoding'] === undefined && text !== '';
    const isJson = /^application\/(problem\+)?json/.test(headers['content-type'] ?? '');
    const json: Json = isPlain && isJson ? JSON.parse(text) : {};
    const { data: items = [], errors: faults = [] }: Partial<Lists> = Object(json);
    return { status: response.statusCode, headers, text, bytes, json, items, faults };
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

interface Lists {
  readonly data: Answer['items'];
  readonly errors: Answer['faults'];
}

/** A field of an answer as text. */
export function word(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
