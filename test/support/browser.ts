/** What a browser does with sessions: keeps the cookie, sends the CSRF token. */
import { onTestFinished } from 'vitest';
import { type Answer, Caller, type CallOptions, Client, word } from './client.ts';
import type { TestApp } from './test-app.ts';

export class Browser extends Caller {
  readonly #client: Client;
  cookie = '';
  csrfToken = '';

  constructor(service: Pick<TestApp, 'url'>) {
    super();
    this.#client = new Client(service.url);
  }

  /** One that is signed in; it closes when the test ends. @throws Error when the sign-in is refused */
  static async signedIn(
    service: Pick<TestApp, 'url'>,
    { email, password }: { readonly email: string; readonly password: string },
    from?: string,
  ): Promise<Browser> {
    const browser = new Browser(service);
    onTestFinished(() => browser.close());
    const { status, text } = await browser.signIn(email, password, from);
    if (status !== 200) throw new Error(`Cannot sign in as ${email}: ${text}`);
    return browser;
  }

  async signIn(email: string, password: string, from = '127.0.0.1'): Promise<Answer> {
    const headers = { 'x-forwarded-for': from };
    const answer = await this.#client.post('/v1/auth/sign-in', { email, password }, { headers });
    if (answer.status === 200) {
      this.cookie = answer.headers['set-cookie']?.split(';')[0] ?? '';
      this.csrfToken = word(answer.json.csrfToken);
    }
    return answer;
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const headers = { cookie: this.cookie, 'x-csrf-token': this.csrfToken, ...options.headers };
    return await this.#client.call(method, path, { ...options, headers });
  }

  async close(): Promise<void> {
    await this.#client.close();
  }
}
