/** A code codes in a process beside the test's, on the same file; does one errand after the other. */
import { getRandomValues } from 'node:crypto';
import { Codes } from '../../src/codes/codes.ts';
import type { CodeDraft } from '../../src/codes/code-creation.ts';
import type { CodeChange } from '../../src/codes/code-change.ts';
import { noLinkTable } from '../../src/codes/links/link-table.ts';
import { createIdSource } from '../../src/model/ids.ts';
import type { Actor } from '../../src/model/workspace.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { systemClock } from '../../src/system-clock.ts';

export type Errand = { readonly actor: Actor } & (
  | { readonly does: 'create'; readonly drafts: readonly CodeDraft[] }
  | { readonly does: 'change'; readonly id: string; readonly change: CodeChange }
  | { readonly does: 'delete'; readonly id: string }
);

const store = openManagement(process.argv[2] ?? '');
const ids = createIdSource(systemClock, getRandomValues);
const codes = new Codes({
  store,
  outbox: new Outbox(store, ids, systemClock),
  links: noLinkTable,
  ids,
  clock: systemClock,
  randomBytes: getRandomValues,
  shortUrlBase: 'http://localhost:8081',
  scansOf: () => 0,
});

async function run(errand: Errand): Promise<void> {
  // What was committed since, by the process that gave the errand.
  store.environment.refresh();
  if (errand.does === 'create') await codes.createMany(errand.actor, errand.drafts);
  else if (errand.does === 'change') await codes.change(errand.actor, errand.id, errand.change);
  else await codes.delete(errand.actor, errand.id);
}

process.on('message', (errand: Errand) => {
  void run(errand).then(() => process.send?.('done'));
});
process.send?.('ready');
