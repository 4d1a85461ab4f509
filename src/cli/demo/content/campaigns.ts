/** The campaigns of the demo, in days before its last one. */
export interface DemoCampaign {
  readonly name: string;
  readonly madeDays: number;
  readonly startDays: number;
  readonly endDays?: number;
  /** Prints whose slugs end so. */
  readonly suffixes: readonly string[];
}

/** Over before the demo's last days. */
export const endedCampaign = {
  name: 'Festival of flavours',
  madeDays: 38,
  startDays: 34,
  endDays: 16,
  suffixes: ['-POSTER'],
} as const satisfies DemoCampaign;

export const runningCampaigns: readonly DemoCampaign[] = [
  { name: 'Scan your receipt', madeDays: 64, startDays: 60, suffixes: ['-RECEIPT'] },
  endedCampaign,
  { name: 'Tasting menu', madeDays: 30, startDays: 28, endDays: -25, suffixes: ['-MENU', '-T1'] },
];

export const scheduledCampaign: DemoCampaign = {
  name: 'Takeaway fortnight',
  madeDays: 4,
  startDays: -10,
  endDays: -24,
  suffixes: ['-BAG'],
};
