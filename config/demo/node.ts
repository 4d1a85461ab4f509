/**
 * One node of the demo: the service of this checkout in a cluster, on a data folder and ports of its own. What it logs
 * goes to a file beside its data.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface NodeOptions {
  readonly name: string;
  /** Its data and its log are in it. */
  readonly folder: string;
  readonly apiPort: number;
  readonly redirectPort: number;
  /** `QZ_…` variables that all nodes have. */
  readonly environment: Readonly<Record<string, string>>;
  /** What it prints to standard output, as it comes. */
  readonly onPrinted: (text: string) => void;
  /** It ended. */
  readonly onEnded: (node: DemoNode, how: string) => void;
}

export type Role = 'active' | 'standby' | 'starting' | 'down';

const program = fileURLToPath(new URL('../../config/start.mjs', import.meta.url));
const askMs = 1_000;
/** API: 8091 to 8093, metrics: 8391 to 8393. */
const metricsPortOf = (apiPort: number): number => apiPort + 300;

export class DemoNode {
  readonly #options: NodeOptions;
  readonly name: string;
  #child: ChildProcess | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
  }

  get isUp(): boolean {
    return this.#child !== undefined;
  }

  get apiUrl(): string {
    return `http://localhost:${this.#options.apiPort}`;
  }

  get linkUrl(): string {
    return `http://localhost:${this.#options.redirectPort}`;
  }

  start(): void {
    if (this.#child !== undefined) return;
    const { name, folder, apiPort, redirectPort, environment } = this.#options;
    const log = openSync(join(folder, `${name}.log`), 'a');
    const child = spawn(process.execPath, [program, 'serve', '--role', 'all'], {
      stdio: ['ignore', 'pipe', log],
      env: {
        ...process.env,
        ...environment,
        QZ_DATA_DIR: join(folder, name),
        QZ_API_HOST: '127.0.0.1',
        QZ_API_PORT: String(apiPort),
        QZ_METRICS_PORT: String(metricsPortOf(apiPort)),
        QZ_API_PUBLIC_URL: this.apiUrl,
        QZ_REDIRECT_HOST: '127.0.0.1',
        QZ_REDIRECT_PORT: String(redirectPort),
        QZ_CLUSTER_NODE_NAME: name,
        QZ_CLUSTER_ADVERTISE_URL: `http://127.0.0.1:${apiPort}`,
      },
    });
    closeSync(log);
    this.#child = child;
    child.stdout?.on('data', (text) => this.#options.onPrinted(String(text)));
    child.once('close', (code, signal) => {
      if (this.#child === child) this.#child = undefined;
      this.#options.onEnded(this, String(signal ?? code));
    });
  }

  /** SIGKILL: what a machine that loses power looks like to the others. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** SIGTERM: it answers what is in flight and counts what it answered. */
  async stop(): Promise<void> {
    await this.#end('SIGTERM');
  }

  /** As its metrics say. */
  async role(): Promise<Role> {
    if (!this.isUp) return 'down';
    try {
      const signal = AbortSignal.timeout(askMs);
      const answer = await fetch(
        `http://127.0.0.1:${metricsPortOf(this.#options.apiPort)}/metrics`,
        { signal },
      );
      const role = /^quietzone_cluster_role\{.*role="(active|standby)".*\} 1$/m.exec(
        await answer.text(),
      )?.[1];
      return role === 'active' || role === 'standby' ? role : 'starting';
    } catch {
      return 'starting';
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }
}
