/**
 * Numbers that must agree: what was given out lies above what is in use, and a code's total is the sum of its
 * months and its newest day.
 */
import { readOr } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { Summaries } from '../../scans/summaries.ts';
import type { Table } from '../../store/environment.ts';
import type { Management, Sequence } from '../../store/management/management.ts';
import {
  newestSequence,
  type ScanStore,
  spanKey,
  workspaceOfCounter,
} from '../../store/scans/scans.ts';
import { newestNumber } from '../../store/sequence-search.ts';
import { type Findings, restoreRemedy } from './findings.ts';
import type { Pause } from './pause.ts';

const sliceMax = 2_000;
const suspectsMax = 10_000;
const spanEnd = 0xffff;
const skip = (): void => undefined;
/** The last number given out where its record is damaged: found as such. */
const unknown = Infinity;

/** A number that is given out twice would join two things' data. */
export function verifySequences(store: Management, findings: Findings): void {
  const tables: ReadonlyArray<readonly [Sequence, Pick<Table<number, unknown>, 'keys'>]> = [
    ['workspace', store.workspaces],
    ['code', store.codes],
    ['event', store.events],
  ];
  for (const [sequence, table] of tables) {
    const used = newestNumber(table);
    store.environment.refresh();
    const last = readOr(() => store.last(sequence), unknown);
    if (used > last) addSequence(findings, 'management.mdb', sequence, used, last);
  }
}

export function verifyBlockSequence(store: ScanStore, findings: Findings): void {
  const used = newestNumber(store.blocks);
  store.environment.refresh();
  const last = readOr(() => newestSequence(store), unknown);
  if (used > last) addSequence(findings, 'scans.mdb', 'block', used, last);
}

function addSequence(
  findings: Findings,
  file: string,
  name: string,
  used: number,
  last: number,
): void {
  const text = `${name} number ${used} is in use, ${last} is said to be the last one given out`;
  findings.add(file, 'numbers', text, restoreRemedy);
}

/**
 * @param isLive whether a code is neither deleted nor gone: the numbers of one that expires are removed in steps.
 * Damaged records are passed over: they are found as such.
 */
export async function verifyTotals(
  store: ScanStore,
  isLive: (codeNo: CodeNo) => boolean,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  const summaries = new Summaries(store, 0);
  const suspects = new Set<number>();
  let seen = 0;
  for (const { key: counter } of store.summaries.range({}, skip)) {
    if (suspects.size < suspectsMax && sumOf(store, summaries, counter) !== undefined) {
      suspects.add(counter);
    }
    seen++;
    if (seen % sliceMax === 0) await pause();
  }
  for (const counter of suspects) {
    store.environment.refresh();
    const difference = sumOf(store, summaries, counter);
    if (difference === undefined) continue;
    const workspaceNo = workspaceOfCounter(counter);
    if (workspaceNo === undefined && !isLive(counter)) continue;
    const whose =
      workspaceNo === undefined ? `code number ${counter}` : `workspace number ${workspaceNo}`;
    findings.add('scans.mdb', 'totals', `the total of ${whose} is ${difference}`, restoreRemedy);
  }
}

/** In words, where the total is not the sum of months and newest day. */
function sumOf(store: ScanStore, summaries: Summaries, counter: number): string | undefined {
  let sum = 0;
  let isDamaged = false;
  const damaged = (): void => void (isDamaged = true);
  const range = { start: spanKey(counter, 0), end: spanKey(counter, spanEnd) };
  try {
    for (const { value } of store.months.range(range, damaged)) sum += summaries.monthScans(value);
    const newest = summaries.newestPieces(counter) ?? [];
    const total = summaries.total(counter);
    for (const { scans } of newest) sum += scans;
    return isDamaged || total === sum ? undefined : `${total}, its months and days have ${sum}`;
  } catch {
    // Damaged, or of a form that this program does not know: found as such.
    return undefined;
  }
}
