/**
 * Rebuilds damaged link blocks from the records of their codes (link-blocks.ts).
 *
 *   code record sound          its link, as the code was last written
 *   code record damaged        a damaged link, under the key that `short_codes` has for the number
 *   code record removed        a tombstone, under that key: the short code of a deleted code is never reused
 *
 * The last two cases read all of `short_codes`: 1 µs a code.
 */
import { foldShortCode, type QrCodeRecord } from '../../model/code.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { compileLink } from '../routes/compile.ts';
import { unpackCode } from '../../store/management/code-codec.ts';
import { codesOfBlock, linksIn, type StoredLink, withLink } from './link-blocks.ts';
import { numberLinkChange } from '../../store/management/link-changes.ts';
import type { Management } from '../../store/management/management.ts';

type Tables = Pick<Management, 'codes' | 'links' | 'shortCodes' | 'last'>;
type WritableTables = Tables & Pick<Management, 'bulk' | 'next'>;

/** The block, rebuilt if it is damaged; undefined = no code of it has a link. */
export function readLinkBlock(store: Tables, blockNo: number): Uint8Array | undefined {
  return store.links.get(blockNo, () => rebuildLinkBlock(store, blockNo));
}

function rebuildLinkBlock(store: Tables, blockNo: number): Uint8Array | undefined {
  const links: StoredLink[] = [];
  const unreadable = new Map<CodeNo, 'damaged' | 'deleted'>();
  for (const codeNo of codesOfBlock(blockNo)) {
    if (codeNo < 1 || codeNo > store.last('code')) continue;
    const packed = store.codes.get(codeNo, () => 'damaged' as const);
    if (packed === 'damaged') unreadable.set(codeNo, 'damaged');
    else if (packed === undefined) unreadable.set(codeNo, 'deleted');
    else {
      const link = linkOf(unpackCode(codeNo, packed));
      if (link !== undefined) links.push(link);
    }
  }
  links.push(...linksByKey(store, unreadable));
  return links.reduce<Uint8Array | undefined>(withLink, undefined);
}

/** A code's entry of the link table; undefined for a static code. */
export function linkOf(code: QrCodeRecord): StoredLink | undefined {
  if (code.shortCode === undefined) return undefined;
  return {
    key: foldShortCode(code.shortCode),
    codeNo: code.no,
    workspaceNo: code.workspaceNo,
    ...compileLink(code),
    // 0 means never.
    expiresAtMs: code.expiresAtMs === undefined ? 0 : Math.max(1, code.expiresAtMs),
    scanLimit: code.scanLimit,
    state: code.deletedAtMs === undefined ? 'live' : 'deleted',
  };
}

/** Links of the codes that have a short code; the others are, or were, static. */
function* linksByKey(
  store: Tables,
  states: ReadonlyMap<CodeNo, 'damaged' | 'deleted'>,
): Generator<StoredLink> {
  if (states.size === 0) return;
  for (const { key, value: codeNo } of store.shortCodes.range({}, () => undefined)) {
    const state = states.get(codeNo);
    if (state === undefined) continue;
    yield { ...blank, key, codeNo, state };
  }
}

const blank = { workspaceNo: 0, target: '', expiresAtMs: 0, scanLimit: undefined };

/** Rebuilds a damaged block inside a transaction. Its former content is unknown: all its codes count as changed. */
export function repairLinkBlock(store: WritableTables, blockNo: number): void {
  store.links.get(blockNo, () => {
    const block = rebuildLinkBlock(store, blockNo);
    if (block === undefined) return store.links.remove(blockNo);
    store.links.put(blockNo, block);
    for (const { codeNo } of linksIn(blockNo, block)) numberLinkChange(store, codeNo);
    return undefined;
  });
}
