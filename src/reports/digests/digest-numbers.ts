/** What a digest says of a workspace: its numbers, and the names of its most scanned codes. */
import { dayOf } from '../../model/day.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { readOr } from '../../model/failure.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import type { WorkspaceRecord } from '../../model/workspace.ts';
import type { ScanQueries } from '../../scans/query/queries.ts';
import type { Share } from '../labels.ts';
import { type Numbers, type Period, readNumbers } from '../report-numbers.ts';

const codesMax = 5;

export interface DigestNumbersOptions {
  readonly scans: Pick<ScanQueries, 'analytics' | 'topCodes'>;
  readonly codes: {
    findByNo(no: CodeNo): QrCodeRecord | undefined;
    shortUrl(code: QrCodeRecord): string | undefined;
  };
  readonly workspaces: { find(workspaceNo: WorkspaceNo): WorkspaceRecord | undefined };
}

export interface FoundNumbers {
  readonly workspaceName: string;
  readonly numbers: Numbers;
  readonly topCodes: readonly Share[];
}

export class DigestNumbers {
  readonly #options: DigestNumbersOptions;

  constructor(options: DigestNumbersOptions) {
    this.#options = options;
  }

  /** Undefined where there is no such workspace. @throws Failure data_damaged */
  async read(
    workspaceNo: WorkspaceNo,
    { days, previous }: Period,
  ): Promise<FoundNumbers | undefined> {
    const { scans, workspaces } = this.#options;
    const workspace = workspaces.find(workspaceNo);
    if (workspace === undefined) return undefined;
    const began = dayOf(workspace.createdAtMs);
    const isWhole = previous !== undefined && previous.fromDay >= began;
    const compared = { days, previous: isWhole ? previous : undefined };
    const subject = { workspace: workspaceNo };
    const numbers = await readNumbers(scans.analytics, subject, compared);
    const isListed = (codeNo: CodeNo): boolean => this.#nameOf(workspaceNo, codeNo) !== undefined;
    const top = await scans.topCodes.find({ ...days, workspaceNo, limit: codesMax, isListed });
    const topCodes = top.flatMap(({ codeNo, scans: count }) => {
      const label = this.#nameOf(workspaceNo, codeNo);
      return label === undefined ? [] : [{ label, scans: count }];
    });
    return { workspaceName: workspace.name, numbers, topCodes };
  }

  /** Its name, or where it is scanned: members may see both. Undefined of a deleted code, or a damaged one. */
  #nameOf(workspaceNo: WorkspaceNo, codeNo: CodeNo): string | undefined {
    const { codes } = this.#options;
    const code = readOr(() => codes.findByNo(codeNo), undefined);
    if (code?.workspaceNo !== workspaceNo || code.deletedAtMs !== undefined) return undefined;
    return code.name ?? codes.shortUrl(code)?.replace(/^https?:\/\//, '');
  }
}
