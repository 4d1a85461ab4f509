/**
 * The whole service in this process: every thread, both ports, real files, opened as `quietzone serve` opens it. What
 * needs a process of its own (exit codes, signals, `kill -9`, a limit on files) starts one: see process.ts.
 */
import { readFileSync } from 'node:fs';
import {
  openAdministration,
  type OpenAdministration,
} from '../../src/app/administration/administration.ts';
import { type App, type AppOptions, openApp } from '../../src/app/app.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import type { Clock } from '../../src/model/clock.ts';
import { createLog } from '../../src/platform/log.ts';
import { addDashboard } from './dashboard.ts';
import { testMachine } from './fakes/first-owner.ts';
import { isListening, openFilesIn } from './leaks.ts';
import { freePorts, settingsOf } from './process.ts';
import { type Ports, RunningService } from './running-service.ts';

export interface TestServiceOptions {
  readonly dataDir: string;
  /** Default: free ones. */
  readonly ports?: Ports;
  /** `QZ_…` variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Of all but the threads, which have the machine's. */
  readonly clock?: Clock;
  /** `administer` works. */
  readonly isAdministered?: boolean;
  /** What kind of start; absent = any. */
  readonly start?: NonNullable<AppOptions['start']>;
  /** Of the first start, when this is a later one. */
  readonly apiKey?: string;
}

export class TestService extends RunningService {
  readonly ports: Ports;
  readonly dataDir: string;
  readonly apiKey: string;
  readonly #app: App;
  readonly #administration: OpenAdministration | undefined;
  readonly #logLines: string[];
  readonly #certificates: Partial<Record<keyof Ports, string | undefined>>;

  private constructor(
    [app, administration]: readonly [App, OpenAdministration | undefined],
    ports: Ports,
    { dataDir, apiKey, environment = {} }: TestServiceOptions,
    logLines: string[],
  ) {
    super();
    this.ports = ports;
    this.dataDir = dataDir;
    this.apiKey = apiKey ?? app.firstSecrets?.apiKey ?? '';
    this.#app = app;
    this.#administration = administration;
    app.secretsShown();
    this.#logLines = logLines;
    const { QZ_API_TLS_CERT_FILE: api, QZ_REDIRECT_TLS_CERT_FILE: redirect } = environment;
    this.#certificates = { api, redirect };
    if (api !== undefined) this.ca = readFileSync(api, 'utf8');
  }

  static async start(options: TestServiceOptions): Promise<TestService> {
    const { dataDir, ports = await freePorts(), environment, clock } = options;
    const config = loadConfig(undefined, settingsOf({ dataDir, ports, environment }));
    const logLines: string[] = [];
    const log = createLog(config.log.level, { write: (line) => void logLines.push(line) });
    await addDashboard();
    const machine = { ...testMachine, ...(clock && { clock }) };
    const app = await openApp(config, log, { machine, start: options.start ?? 'any' });
    // Before any write: lmdb-js blocks this thread while it opens tables, until other transactions of the file end, and one
    // of the service would wait for this thread.
    const isAdministered = options.isAdministered === true;
    const administration = isAdministered
      ? openAdministration(config, undefined, testMachine)
      : undefined;
    return new TestService([app, administration], ports, options, logLines);
  }

  #urlOf(port: keyof Ports): string {
    const scheme = this.#certificates[port] === undefined ? 'http' : 'https';
    return `${scheme}://127.0.0.1:${this.ports[port]}`;
  }

  override get apiUrl(): string {
    return this.#urlOf('api');
  }

  override get redirectUrl(): string {
    return this.#urlOf('redirect');
  }

  get stderr(): string {
    return this.#logLines.join('');
  }

  /** Works on its data beside it, as a command does. */
  async administer(
    work: (services: OpenAdministration['services']) => Promise<void>,
  ): Promise<void> {
    if (this.#administration === undefined) throw new Error('The service has no administration');
    await work(this.#administration.services);
  }

  /** Stops as SIGTERM does. @throws Error when a file or a port is left open */
  async close(): Promise<void> {
    await this.closeClients();
    await this.#administration?.close();
    await this.#app.close();
    const left = openFilesIn(this.dataDir);
    if (left.length > 0) throw new Error(`Left open by the service: ${left.join(', ')}`);
    for (const port of [this.ports.api, this.ports.redirect]) {
      if (await isListening(port)) throw new Error(`The service still listens on ${port}`);
    }
  }
}
