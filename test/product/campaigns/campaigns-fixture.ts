/** The application with campaigns, and counting that is as far as a test says. */
import { parseDay } from '../../../src/model/day.ts';
import { actor } from '../codes/codes-fixture.ts';
import type { EventKind } from '../../../src/model/event.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';
import { dataOf } from '../watches/watches-fixture.ts';

export type CampaignsFixture = Awaited<ReturnType<typeof openCampaignsFixture>>;

export async function openCampaignsFixture() {
  /** As far as a test says; prompt = nothing waits to be counted whenever somebody asks. */
  const counting = {
    journaled: 0,
    counted: 0,
    isPrompt: true,
    mark: () => {
      const { journaled } = counting;
      return { isPast: (): boolean => counting.isPrompt || counting.counted >= journaled };
    },
  };
  let app = await openTestApp({ plan: 'none', counting });
  return {
    /** Another after `restart`. */
    get app(): TestApp {
      return app;
    },
    counting,
    /** Data of the emitted events of a kind, oldest first. */
    emitted: (kind: EventKind) => dataOf(app, kind),
    /** As many codes as asked; ids. */
    async codes(count: number): Promise<string[]> {
      const drafts = Array.from({ length: count }, () => ({ target: 'https://example.com/' }));
      const made = await app.codes.createMany(actor, drafts);
      return made.map((code) => ('id' in code ? code.id : ''));
    },
    async restart(): Promise<void> {
      app = await app.restart();
    },
  };
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
