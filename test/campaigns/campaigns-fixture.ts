/** The application with campaigns, and counting that is as far as a test says. */
import type { Counting, CountingMark } from '../../src/campaigns/campaign-scheduler.ts';
import { parseDay } from '../../src/model/day.ts';
import { actor } from '../codes/codes-fixture.ts';
import { openTestApp, type TestApp } from '../support/test-app.ts';

/** Counting that is as far as a test says. */
export class HandCounting implements Counting {
  journaled = 0;
  counted = 0;
  /** Where the journals end whenever somebody asks: nothing waits to be counted. */
  isPrompt = true;

  mark(): CountingMark {
    const { journaled } = this;
    return { isPast: () => this.isPrompt || this.counted >= journaled };
  }
}

export interface CampaignsFixture {
  /** Another after `restart`. */
  app: TestApp;
  readonly counting: HandCounting;
  /** Data of the emitted events of a kind, oldest first. */
  emitted(kind: 'campaign.created' | 'campaign.ended'): Array<Readonly<Record<string, unknown>>>;
  /** As many codes as asked; ids. */
  codes(count: number): Promise<string[]>;
  restart(): Promise<void>;
}

export async function openCampaignsFixture(): Promise<CampaignsFixture> {
  const counting = new HandCounting();
  const fixture: CampaignsFixture = {
    app: await openTestApp({ plan: 'none', counting }),
    counting,
    emitted: (kind) =>
      fixture.app.outbox
        .after(0, 10_000)
        .filter((event) => event.kind === kind)
        .map(({ body }) => dataOf(body)),
    async codes(count) {
      const drafts = Array.from({ length: count }, () => ({ target: 'https://example.com/' }));
      const made = await fixture.app.codes.createMany(actor, drafts);
      return made.map((code) => ('id' in code ? code.id : ''));
    },
    async restart() {
      fixture.app = await fixture.app.restart();
    },
  };
  return fixture;
}

/** The parts of a fixture that is not restarted, and the ids of up to three codes. */
export async function openParts(count = 0) {
  const fixture = await openCampaignsFixture();
  const { app } = fixture;
  const [a = '', b = '', c = ''] = await fixture.codes(count);
  return {
    ...app.campaigns,
    fixture,
    codes: app.codes,
    clock: app.clock,
    tick: () => app.campaignScheduler.tick(),
    a,
    b,
    c,
  };
}

export function dayNumber(text: string): number {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`Not a day: ${text}`);
  return day;
}

function dataOf(body: string): Readonly<Record<string, unknown>> {
  const event: { readonly data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return event.data;
}
