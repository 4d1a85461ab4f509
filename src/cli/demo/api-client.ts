/** The demo as a client of its own service: JSON in, JSON out, and an error for whatever is not answered with success. */
import { parseJson } from '../../engine/small-files.ts';

/** A JSON value that is asked for its fields. */
export class Answer {
  readonly #value: unknown;

  constructor(value: unknown) {
    this.#value = value;
  }

  get(name: string): Answer {
    return new Answer(Reflect.get(Object(this.#value), name));
  }

  get items(): readonly Answer[] {
    const list: readonly unknown[] = Array.isArray(this.#value) ? this.#value : [];
    return list.map((item) => new Answer(item));
  }

  /** @throws Error where it is no text */
  get text(): string {
    if (typeof this.#value === 'string') return this.#value;
    throw new Error(`Cannot read an answer: ${String(this.#value)}, expected a text`);
  }

  get number(): number {
    return Number(this.#value);
  }
}

export class ApiClient {
  readonly #url: string;
  readonly #key: string;

  /** @param url with `/v1` */
  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  get(path: string): Promise<Answer> {
    return this.#call('GET', path, undefined);
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.#call('POST', path, { type: 'application/json', text: JSON.stringify(body) });
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.#call('PATCH', path, { type: 'application/json', text: JSON.stringify(body) });
  }

  postFile(path: string, type: string, text: string): Promise<Answer> {
    return this.#call('POST', path, { type, text });
  }

  async #call(
    method: string,
    path: string,
    body: { readonly type: string; readonly text: string } | undefined,
  ): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body && { 'content-type': body.type }),
      },
      body: body?.text ?? null,
    });
    const text = await response.text();
    if (response.ok) return new Answer(parseJson(text));
    throw new Error(`Cannot make the demo: ${method} ${path} answered ${response.status} ${text}`);
  }
}
