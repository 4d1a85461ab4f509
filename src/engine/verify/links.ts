/**
 * The links, which redirects follow, against the codes, which the API shows: both say where a short code leads, and
 * they are written in one transaction.
 *
 * Beside a running service the two are read at different moments: what differs is looked at again, both at once.
 */
import type { QrCodeRecord } from '../../model/code.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { unpackCode } from '../../store/management/code-codec.ts';
import {
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
} from '../../store/management/link-blocks.ts';
import { linkOf } from '../../store/management/link-repair.ts';
import type { Management } from '../../store/management/management.ts';
import { type Findings, restoreRemedy } from './findings.ts';
import type { Pause } from './pause.ts';

const file = 'management.mdb';
const sliceMax = 2_000;
/** Looked at again; where more differ than these, the rest is counted with them. */
const suspectsMax = 10_000;
const remedy = `set the target of the code again, or ${restoreRemedy}`;
const skip = (): void => undefined;

/** Damaged records are passed over: they are found as such. */
export async function verifyLinks(
  store: Management,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  const suspects = new Set<CodeNo>();
  let blockNo = -1;
  let links = new Map<CodeNo, StoredLink>();
  let seen = 0;
  const readBlock = (wanted: number): void => {
    blockNo = wanted;
    const block = store.links.get(wanted, () => undefined);
    links = new Map(block && linksIn(wanted, block).map((link) => [link.codeNo, link]));
  };
  for (const { key: codeNo, value } of store.codes.range({}, skip)) {
    if (linkBlockOf(codeNo) !== blockNo) readBlock(linkBlockOf(codeNo));
    const code = unpackCode(codeNo, value);
    if (suspects.size < suspectsMax && difference(code, links.get(codeNo)) !== undefined) {
      suspects.add(codeNo);
    }
    seen++;
    if (seen % sliceMax === 0) await pause();
  }
  for (const { key, value } of store.links.range({}, skip)) {
    for (const link of linksIn(key, value)) {
      if (link.state === 'live' && !store.codes.has(link.codeNo)) suspects.add(link.codeNo);
    }
    seen++;
    if (seen % sliceMax === 0) await pause();
  }
  for (const codeNo of suspects) {
    const text = secondDifference(store, codeNo);
    if (text !== undefined) findings.add(file, 'links that differ from their codes', text, remedy);
  }
}

function secondDifference(store: Management, codeNo: CodeNo): string | undefined {
  store.environment.refresh();
  const block = store.links.get(linkBlockOf(codeNo), () => 'damaged' as const);
  // The link of a damaged block is rebuilt from the code's record.
  if (block === 'damaged') return undefined;
  const link = block && linkIn(block, codeNo);
  const packed = store.codes.get(codeNo, () => 'damaged' as const);
  if (packed === 'damaged') return undefined;
  if (packed !== undefined) {
    const code = unpackCode(codeNo, packed);
    const what = difference(code, link);
    return what && `the link of code ${code.id} ${what}`;
  }
  return link?.state === 'live' ? `link ${codeNo} has no code` : undefined;
}

/** As a clause about the link. A damaged one is refused, never followed. */
function difference(code: QrCodeRecord, link: StoredLink | undefined): string | undefined {
  const expected = linkOf(code);
  if (expected === undefined) return undefined;
  if (link === undefined) return expected.state === 'deleted' ? undefined : 'is missing';
  if (link.state !== expected.state) return `is ${link.state}, the code is ${expected.state}`;
  if (link.key !== expected.key) return 'has another short code';
  if (link.workspaceNo !== expected.workspaceNo) return 'is of another workspace';
  if (expected.state === 'deleted') return undefined;
  if (link.target !== expected.target) return 'leads to another target than the code has';
  if (!isSameProgram(link.program, expected.program))
    return 'follows other rules than the code has';
  const isSameEnd =
    link.expiresAtMs === expected.expiresAtMs && link.scanLimit === expected.scanLimit;
  return isSameEnd ? undefined : 'ends at another time or number of scans';
}

const isSameProgram = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined ? one === other : Buffer.compare(one, other) === 0;
