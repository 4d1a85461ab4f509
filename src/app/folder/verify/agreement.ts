/**
 * Compares data that must agree: links and codes, totals and their parts.
 *
 * While a service runs, the two sides are read at different moments, so a difference is read again in one snapshot.
 * Damaged records are skipped: verify.ts reports them.
 */
import type { QrCodeRecord } from '../../../model/code.ts';
import type { CodeNo } from '../../../model/numbers.ts';
import { Summaries } from '../../../engine/counting/summaries.ts';
import { unpackCode } from '../../../store/management/code-codec.ts';
import {
  linkBlockOf,
  linkIn,
  linksIn,
  type StoredLink,
} from '../../../engine/links/link-blocks.ts';
import { linkOf } from '../../../engine/links/link-repair.ts';
import type { Management } from '../../../store/management/management.ts';
import { type ScanStore, workspaceOfCounter } from '../../../store/scans/scans.ts';
import { type Findings, type Pause, restoreRemedy } from './findings.ts';

const sliceMax = 2_000;
/** Most differences to read again. */
const suspectsMax = 10_000;
const skip = (): void => undefined;
const linkRemedy = `set the target of the code again, or ${restoreRemedy}`;

async function* inSlices<T>(rows: Iterable<T>, pause: Pause): AsyncGenerator<T> {
  let seen = 0;
  for (const row of rows) {
    yield row;
    if (++seen % sliceMax === 0) await pause();
  }
}

/** Redirects follow links, the API shows codes, and one transaction writes both. */
export async function verifyLinks(
  store: Management,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  const suspects = new Set<CodeNo>();
  let blockNo = -1;
  let links = new Map<CodeNo, StoredLink>();
  const readBlock = (wanted: number): void => {
    blockNo = wanted;
    const block = store.links.get(wanted, () => undefined);
    links = new Map(block && linksIn(wanted, block).map((link) => [link.codeNo, link]));
  };
  for await (const { key: codeNo, value } of inSlices(store.codes.range({}, skip), pause)) {
    if (linkBlockOf(codeNo) !== blockNo) readBlock(linkBlockOf(codeNo));
    const code = unpackCode(codeNo, value);
    if (suspects.size < suspectsMax && difference(code, links.get(codeNo)) !== undefined) {
      suspects.add(codeNo);
    }
  }
  for await (const { key, value } of inSlices(store.links.range({}, skip), pause)) {
    for (const link of linksIn(key, value)) {
      if (link.state === 'live' && !store.codes.has(link.codeNo)) suspects.add(link.codeNo);
    }
  }
  for (const codeNo of suspects) {
    const text = secondDifference(store, codeNo);
    if (text !== undefined)
      findings.add('management.mdb', 'links that differ from their codes', text, linkRemedy);
  }
}

function secondDifference(store: Management, codeNo: CodeNo): string | undefined {
  store.environment.refresh();
  const block = store.links.get(linkBlockOf(codeNo), () => 'damaged' as const);
  // The next start rebuilds a damaged block from the codes.
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

/** A clause about the link. Redirects refuse a damaged one. */
function difference(code: QrCodeRecord, link: StoredLink | undefined): string | undefined {
  const expected = linkOf(code);
  if (expected === undefined) return undefined;
  if (link === undefined) return expected.state === 'deleted' ? undefined : 'is missing';
  if (link.state !== expected.state) return `is ${link.state}, the code is ${expected.state}`;
  if (link.key !== expected.key) return 'has another short code';
  if (link.workspaceNo !== expected.workspaceNo) return 'belongs to another workspace';
  if (expected.state === 'deleted') return undefined;
  if (link.target !== expected.target) return 'differs from the code in its target';
  if (!isSameProgram(link.program, expected.program)) return 'differs from the code in its rules';
  const isSameEnd =
    link.expiresAtMs === expected.expiresAtMs && link.scanLimit === expected.scanLimit;
  return isSameEnd ? undefined : 'differs from the code in its end or scan limit';
}

const isSameProgram = (one: Uint8Array | undefined, other: Uint8Array | undefined): boolean =>
  one === undefined || other === undefined ? one === other : Buffer.compare(one, other) === 0;

const spanEnd = 0xffff;
/** @param isLive false for deleted codes, whose numbers are removed in steps */
export async function verifyTotals(
  store: ScanStore,
  isLive: (codeNo: CodeNo) => boolean,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  const summaries = new Summaries(store, 0);
  const suspects = new Set<number>();
  for await (const { key: counter } of inSlices(store.summaries.range({}, skip), pause)) {
    if (suspects.size < suspectsMax && sumOf(summaries, counter) !== undefined) {
      suspects.add(counter);
    }
  }
  for (const counter of suspects) {
    store.environment.refresh();
    const difference = sumOf(summaries, counter);
    if (difference === undefined) continue;
    const workspaceNo = workspaceOfCounter(counter);
    if (workspaceNo === undefined && !isLive(counter)) continue;
    const whose =
      workspaceNo === undefined ? `code number ${counter}` : `workspace number ${workspaceNo}`;
    findings.add('scans.mdb', 'totals', `the total of ${whose} is ${difference}`, restoreRemedy);
  }
}

function sumOf(summaries: Summaries, counter: number): string | undefined {
  let sum = 0;
  try {
    for (const { scans } of summaries.monthPieces(counter, 0, spanEnd)) sum += scans;
    const newest = summaries.newestPieces(counter) ?? [];
    const total = summaries.total(counter);
    for (const { scans } of newest) sum += scans;
    return total === sum ? undefined : `${total}, its months and days have ${sum}`;
  } catch {
    // Damaged: reported elsewhere.
    return undefined;
  }
}
