/** Thread entry that makes the table of an operator's files (table-file.ts), and ends. */
import { openThreadChannel } from '../../../workers/thread-setup.ts';
import { type GeoParts, type KeptTable, keepTable } from './table-file.ts';

export interface TableSetup {
  readonly parts: GeoParts;
  /** Where tables are kept. */
  readonly folder: string;
}

const { setup, send } = openThreadChannel<TableSetup, KeptTable, never>();
send(keepTable(setup.parts, setup.folder));
