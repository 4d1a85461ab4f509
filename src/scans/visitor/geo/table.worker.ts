/** Thread entry that makes the table of an operator's files (table-file.ts), and ends. */
import { openThreadChannel } from '../../../workers/thread-setup.ts';
import { type FoundFiles, type MadeTable, keepTable } from './table-file.ts';

export interface TableSetup {
  readonly files: FoundFiles;
  /** Where tables are kept. */
  readonly folder: string;
}

const { setup, send } = openThreadChannel<TableSetup, MadeTable, never>();
send(keepTable(setup.files, setup.folder));
