import type { Counting } from '../../../src/campaigns/campaign-scheduler.ts';

/** Every scan is counted at once. */
export const counted: Counting = { mark: () => ({ isPast: () => true }) };
