/**
 * Runs the operations of a command: asks the service on the data folder, or, if none runs, locks the folder and runs them
 * in this process. A service may stop or start between two operations.
 */
import { resolve } from 'node:path';
import type { OpenAdministration } from '../app/administration/administration.ts';
import type * as Operations from '../app/administration/operations.ts';
import type { InputOf, OperationName, ResultOf } from '../app/administration/operations.ts';
import { assertChangeable } from '../cluster/nodes/node-folder.ts';
import type { Config } from '../platform/config/config.ts';
import { askService } from '../app/commands/ask-service.ts';
import {
  type DataFolder,
  dataFolderAt,
  DataFolderLockedError,
  openExistingDataFolder,
} from '../app/folder/data-folder.ts';
import { openWithClosers } from '../platform/closers.ts';
import { openInstallation } from '../app/folder/service-folder.ts';

export type Ask = Session['ask'];

/** Fills a new folder, which has no workspace. */
export type Fill = (administration: OpenAdministration) => Promise<void>;

interface Opened {
  readonly administration: OpenAdministration;
  readonly operations: typeof Operations;
  readonly close: () => Promise<void>;
}

/** Attempts: another process may lock the folder between our question and our lock. */
const triesMax = 5;

export class Session {
  readonly #config: Config;
  readonly #fill: Fill | undefined;
  readonly #folder: DataFolder;
  #opened: Opened | undefined;

  /** @param fill for a command that may make the folder @throws DataFolderError if the folder has no data */
  constructor(config: Config, fill?: Fill) {
    this.#config = config;
    this.#fill = fill;
    const { dataDir } = config;
    this.#folder = fill ? dataFolderAt(resolve(dataDir)) : openExistingDataFolder(dataDir);
  }

  /** @throws Failure, DataFolderError */
  async ask<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<ResultOf<Name>>;
  async ask(name: OperationName, input: unknown): Promise<unknown> {
    for (let tries = 1; this.#opened === undefined; tries++) {
      const answer = await askService(this.#folder, name, input);
      if (answer !== undefined) return answer.result;
      try {
        this.#opened = await this.#open();
      } catch (error) {
        if (!(error instanceof DataFolderLockedError) || tries === triesMax) throw error;
      }
    }
    const { administration, operations } = this.#opened;
    const operation = operations.findOperation(name);
    if (operation.changes) assertChangeable(this.#folder.path);
    const control = { progress: () => undefined, signal: new AbortController().signal };
    return await operation.run(administration, input, control);
  }

  async close(): Promise<void> {
    await this.#opened?.close();
  }

  #open(): Promise<Opened> {
    return openWithClosers(async (closers) => {
      const purpose = this.#fill ? 'fill' : 'use';
      const { folder, close: unlock } = await openInstallation(this.#config.dataDir, purpose);
      closers.push(unlock);
      const operations = await import('../app/administration/operations.ts');
      const { openAdministration } = await import('../app/administration/administration.ts');
      const administration = openAdministration(this.#config, folder);
      closers.push(() => administration.close());
      await this.#fill?.(administration);
      return { administration, operations };
    });
  }
}
