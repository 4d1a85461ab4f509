/** Codes on a real store, with a link table that remembers the newest state of every link. */
import { getRandomValues } from 'node:crypto';
import { Codes, type CodesOptions } from '../../src/codes/codes.ts';
import { createIdSource } from '../../src/model/ids.ts';
import type { Actor } from '../../src/model/workspace.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { RecordingLinks } from '../support/fakes/recording-links.ts';
import {
  HandClock,
  temporaryManagement,
  type TemporaryManagement,
} from '../store/temporary-management.ts';

export const actor: Actor = {
  userId: 'usr_00000000000000000001',
  workspaceId: 'ws_00000000000000000001',
  workspaceNo: 1,
  role: 'owner',
  keyId: 'key_00000000000000000001',
};
export const stranger: Actor = {
  ...actor,
  userId: 'usr_00000000000000000002',
  workspaceId: 'ws_00000000000000000002',
  workspaceNo: 2,
};

export interface CodesFixture {
  readonly temporary: TemporaryManagement;
  readonly clock: HandClock;
  links: RecordingLinks;
  outbox: Outbox;
  codes: Codes;
  /** Scans that count as counted, by code number. */
  readonly scans: Map<number, number>;
  restart(other?: Partial<CodesOptions>): Promise<void>;
}

export function openCodes(more: Partial<CodesOptions> = {}): CodesFixture {
  const temporary = temporaryManagement();
  const clock = new HandClock();
  const scans = new Map<number, number>();
  const open = (
    other: Partial<CodesOptions> = more,
  ): Pick<CodesFixture, 'links' | 'outbox' | 'codes'> => {
    const { store } = temporary;
    const ids = createIdSource(clock, getRandomValues);
    const outbox = new Outbox(store, ids, clock);
    const links = new RecordingLinks();
    const codes = new Codes({
      store,
      outbox,
      links,
      ids,
      clock,
      randomBytes: getRandomValues,
      shortUrlBase: 'http://localhost:8081',
      scansOf: (no) => scans.get(no) ?? 0,
      ...other,
    });
    return { links, outbox, codes };
  };
  const fixture: CodesFixture = {
    temporary,
    clock,
    scans,
    ...open(),
    async restart(other) {
      await temporary.reopen();
      Object.assign(fixture, open(other));
      fixture.codes.links.load();
      fixture.codes.links.loadLimited();
    },
  };
  return fixture;
}

/** A campaign of the actor's workspace that runs for ever. */
export async function putCampaign(fixture: CodesFixture, id: string, no: number): Promise<void> {
  const { environment, campaigns } = fixture.temporary.store;
  const record = { id, no, workspaceNo: actor.workspaceNo, name: 'C', startDay: 0 };
  const made = { createdBy: actor.userId, createdAtMs: 0, updatedAtMs: 0 };
  await environment.transaction(() => {
    campaigns.campaigns.put(no, { ...record, ...made });
    campaigns.campaignIds.put(id, no);
  });
}
