/** What campaigns need of codes, so that a test can hand in its own: the code of an id, and memberships. */
import type { CampaignRecord } from '../model/campaign.ts';
import type { QrCodeRecord } from '../model/code.ts';
import type { Fault } from '../model/failure.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

export interface CampaignMember {
  readonly codeNo: CodeNo;
  readonly qrCodeId: string;
  /** It counts as long as its analytics are kept, and is listed no more. */
  readonly isDeleted: boolean;
}

export interface CampaignCodes {
  /** A live code of the workspace. */
  find(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined;
  readonly memberships: {
    /** In the order of the list. */
    membersOf(campaignNo: number): readonly CampaignMember[];
    listFaults(campaignNo: number | undefined, codes: readonly QrCodeRecord[]): Fault[];
    setList(campaign: CampaignRecord, codes: readonly QrCodeRecord[]): void;
    removeCampaign(campaign: CampaignRecord): void;
  };
}
