/**
 * An operator's commands beside the service, one after the other: each opens the data files while others write to them,
 * die and take over, and must end with 0.
 */
import { pause, spawnCommand } from '../support/process.ts';

const betweenMs = 200;

export class Commands {
  readonly #environment: Readonly<Record<string, string>>;
  readonly #note: (what: string) => void;
  readonly #ended: Promise<void>;
  #isStopping = false;
  count = 0;

  constructor(environment: Readonly<Record<string, string>>, note: (what: string) => void) {
    this.#environment = environment;
    this.#note = note;
    this.#ended = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#ended;
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const { code, stderr } = await spawnCommand(['workspaces', 'list'], this.#environment);
      this.count += 1;
      if (code !== 0) this.#note(`a command ended with ${code}: ${stderr}`);
      await pause(betweenMs);
    }
  }
}
