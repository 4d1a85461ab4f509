/** What a digest says of a workspace: its numbers, and the names of its most scanned codes. */
import type { QrCodeRecord } from '../../../model/code.ts';
import { readOr } from '../../../model/failure.ts';
import type { CodeNo, WorkspaceNo } from '../../../model/numbers.ts';
import type { WorkspaceRecord } from '../../../model/workspace.ts';
import type { ScanQueries } from '../../../engine/analytics/queries.ts';
import { type Share, zoneText } from '../labels.ts';
import type { Calendar } from '../../../model/zones/calendar.ts';
import { type Numbers, readLocal, readNumbers } from '../report-numbers.ts';
import type { periodThrough } from './digest-schedule.ts';

const codesMax = 5;

export interface DigestNumbersOptions {
  readonly scans: Pick<ScanQueries, 'analytics' | 'topCodes'>;
  readonly codes: {
    findByNo(no: CodeNo): QrCodeRecord | undefined;
    shortUrl(code: QrCodeRecord): string | undefined;
  };
  readonly workspaces: { find(workspaceNo: WorkspaceNo): WorkspaceRecord | undefined };
  readonly calendarOf: (workspaceNo: WorkspaceNo) => Calendar;
}

export interface FoundNumbers {
  readonly workspaceName: string;
  readonly numbers: Numbers;
  /** Most scans first. */
  readonly topCodes: readonly Share[];
  /** Whose days they are. */
  readonly zone: string;
}

type Period = ReturnType<typeof periodThrough>;

export class DigestNumbers {
  readonly #options: DigestNumbersOptions;

  constructor(options: DigestNumbersOptions) {
    this.#options = options;
  }

  /** Undefined where there is no such workspace. @throws Failure data_damaged */
  async read(workspaceNo: WorkspaceNo, period: Period): Promise<FoundNumbers | undefined> {
    const { workspaces, calendarOf } = this.#options;
    const workspace = workspaces.find(workspaceNo);
    if (workspace === undefined) return undefined;
    return await readLocal(calendarOf(workspaceNo), (calendar) =>
      this.#readIn(workspace, period, calendar),
    );
  }

  async #readIn(
    { no: workspaceNo, name: workspaceName, createdAtMs }: WorkspaceRecord,
    period: Period,
    calendar: Calendar,
  ): Promise<FoundNumbers> {
    const { scans } = this.#options;
    const days = { ...period.days, calendar };
    const isWhole = period.previous.fromDay >= calendar.dayOf(createdAtMs);
    const previous = isWhole ? { ...period.previous, calendar } : undefined;
    const subject = { workspace: workspaceNo };
    const numbers = await readNumbers(scans.analytics, subject, { days, previous });
    const isListed = (codeNo: CodeNo): boolean => this.#nameOf(workspaceNo, codeNo) !== undefined;
    const top = await scans.topCodes.find({ ...days, workspaceNo, limit: codesMax, isListed });
    const topCodes = top.flatMap(({ codeNo, scans: count }) => {
      const label = this.#nameOf(workspaceNo, codeNo);
      return label === undefined ? [] : [{ label, scans: count }];
    });
    return { workspaceName, numbers, topCodes, zone: zoneText(calendar.zone) };
  }

  /** Its name, or where it is scanned: members may see both. Undefined of a deleted code, or a damaged one. */
  #nameOf(workspaceNo: WorkspaceNo, codeNo: CodeNo): string | undefined {
    const { codes } = this.#options;
    const code = readOr(() => codes.findByNo(codeNo), undefined);
    if (code?.workspaceNo !== workspaceNo || code.deletedAtMs !== undefined) return undefined;
    return code.name ?? codes.shortUrl(code)?.replace(/^https?:\/\//, '');
  }
}
