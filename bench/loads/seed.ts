/**
 * Fills a data folder with codes, without HTTP: straight into the store, 100,000 codes a transaction,
 * in the form that `Codes` gives them. Codes have numbers 1, 2, 3 .., short codes and targets follow
 * from the number.
 */
import { randomFillSync } from 'node:crypto';
import { openAdministration } from '../../src/app/administration/administration.ts';
import { moveTerms } from '../../src/product/codes/search/terms.ts';
import type { Config } from '../../src/platform/config/config.ts';
import type { QrCodeRecord } from '../../src/model/code.ts';
import type { Routing } from '../../src/model/routing/routing.ts';
import { createIdSource } from '../../src/model/ids.ts';
import { openInstallation } from '../../src/app/folder/service-folder.ts';
import { compileLink } from '../../src/engine/routes/compile.ts';
import { packCode } from '../../src/store/management/code-codec.ts';
import { linkBlockOf, withLink, type StoredLink } from '../../src/engine/links/link-blocks.ts';
import { openManagement, type Management } from '../../src/store/management/management.ts';
import { thisMachine } from '../../src/app/modules.ts';
import { systemClock } from '../../src/platform/system-clock.ts';

const codesPerTransaction = 100_000;
/** Nobody signs in: the password's hash costs little. */
const machine = { ...thisMachine, passwordCostLog2: 4 };
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Spreads the numbers over the 2^40 codes of 8 characters, each once. */
export function shortCodeOf(no: number): string {
  const low = Math.imul(no, 0x9e3779b1) >>> 0;
  let text = '';
  for (let bits = 0; bits < 30; bits += 5) text += alphabet[(low >>> bits) & 31];
  return text + alphabet[low >>> 30]! + alphabet[no & 31]!;
}

export function targetOf(no: number): string {
  return `https://shop.example/campaigns/spring/${no}?utm_source=qr`;
}

/** `whole` codes as the API makes them; `links` only what start-up reads, for millions. */
export type SeedDepth = 'whole' | 'links';

export async function seedCodes(
  config: Config,
  count: number,
  depth: SeedDepth,
  routing?: Routing,
): Promise<void> {
  const { folder, close } = await openInstallation(config.dataDir, 'fill');
  const administration = openAdministration(config, folder, machine);
  await administration.services.workspaces.bootstrap(config.bootstrap);
  const [workspace] = [...administration.services.workspaces.all()];
  const owner = administration.services.users.firstOwner(workspace?.no ?? 0);
  await administration.close();
  if (workspace === undefined || owner === undefined) throw new Error('Cannot seed: no workspace');
  const store = openManagement(folder.managementFile);
  const ids = createIdSource(systemClock, (bytes) => randomFillSync(bytes));
  const make = (no: number): QrCodeRecord => ({
    id: ids.newId('qr'),
    no,
    workspaceId: workspace.id,
    workspaceNo: workspace.no,
    type: 'url',
    target: targetOf(no),
    dynamic: true,
    shortCode: shortCodeOf(no),
    tags: [],
    metadata: {},
    createdAtMs: systemClock.now(),
    updatedAtMs: systemClock.now(),
    createdBy: owner.id,
    ...(routing === undefined ? {} : { routing }),
  });
  for (let first = 1; first <= count; first += codesPerTransaction) {
    const end = Math.min(count + 1, first + codesPerTransaction);
    store.environment.transactionSync(() => {
      if (depth === 'whole') for (let no = first; no < end; no++) putCode(store, make(no));
      putLinks(store, first, end, workspace.no, routing);
      store.meta.put('next:code', end);
    });
  }
  await store.environment.flush();
  await store.close();
  await close();
}

function putCode(store: Management, code: QrCodeRecord): void {
  store.codes.put(code.no, packCode(code));
  store.codeIds.put(code.id, code.no);
  if (code.shortCode !== undefined) store.shortCodes.put(code.shortCode, code.no);
  moveTerms(store, undefined, code);
}

/** A block is written once, with all of its links. */
function putLinks(
  store: Management,
  first: number,
  end: number,
  workspaceNo: number,
  routing: Routing | undefined,
): void {
  let block = store.links.get(linkBlockOf(first));
  for (let no = first; no < end; no++) {
    const link: StoredLink = {
      key: shortCodeOf(no),
      codeNo: no,
      workspaceNo,
      ...compileLink({ target: targetOf(no), ...(routing === undefined ? {} : { routing }) }),
      expiresAtMs: 0,
      scanLimit: undefined,
      state: 'live',
    };
    block = withLink(block, link);
    if (no + 1 === end || linkBlockOf(no + 1) !== linkBlockOf(no)) {
      store.links.put(linkBlockOf(no), block);
      block = undefined;
    }
  }
}

/** The paths of codes 1 to `count`. */
export function pathsOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `/${shortCodeOf(index + 1)}`);
}
