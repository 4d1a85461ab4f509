/** The application with codes, made with what a test wants to differ. */
import { join } from 'node:path';
import { Codes, type CodesOptions } from '../../../src/product/codes/codes.ts';
import { addressSpace, createLinkTableMemory } from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { LinkWriter } from '../../../src/engine/links/writer.ts';
import type { Actor } from '../../../src/model/workspace.ts';
import type { Outbox } from '../../../src/webhooks/outbox.ts';
import type { Management } from '../../../src/store/management/management.ts';
import type { RecordingLinks } from '../../support/fakes/recording-links.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';
import type { TestClock } from '../../support/fakes/test-clock.ts';
import type { QrCodeRecord } from '../../../src/model/code.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';
import { packCode } from '../../../src/store/management/code-codec.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { routingOf } from '../../engine/links/routed.ts';

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

export class CodesFixture {
  /** Another after `restart`, and so are store, links and outbox. */
  app: TestApp;
  codes: Codes;
  /** Scans that count as counted, by code number. */
  readonly scans = new Map<number, number>();

  constructor(app: TestApp, more: Partial<CodesOptions>) {
    this.app = app;
    this.codes = this.open(more);
  }

  get store(): Management {
    return this.app.store;
  }
  get clock(): TestClock {
    return this.app.clock;
  }
  get links(): RecordingLinks {
    return this.app.links;
  }
  get outbox(): Outbox {
    return this.app.outbox;
  }

  /** Codes on this store, as another core may have them. */
  open(more: Partial<CodesOptions>): Codes {
    const { config, ids, outbox, clock, management: store } = this.app.base;
    const { shortUrlBase } = config;
    const scansOf = (no: number): number => this.scans.get(no) ?? 0;
    const { links } = this.app;
    return new Codes({ store, outbox, ids, clock, links, shortUrlBase, scansOf, ...more });
  }

  async restart(more: Partial<CodesOptions> = {}): Promise<void> {
    this.app = await this.app.restart();
    this.codes = this.open(more);
    this.codes.links.load();
    this.codes.links.loadLimited();
  }
}

export async function openCodes(more: Partial<CodesOptions> = {}): Promise<CodesFixture> {
  return new CodesFixture(await openTestApp({ plan: 'none' }), more);
}

/** A campaign of the actor's workspace that runs for ever. */
export async function putCampaign(fixture: CodesFixture, id: string, no: number): Promise<void> {
  const { environment, campaigns } = fixture.store;
  const record = { id, no, workspaceNo: actor.workspaceNo, name: 'C', startDay: 0 };
  const made = { createdBy: actor.userId, createdAtMs: 0, updatedAtMs: 0 };
  await environment.transaction(() => {
    campaigns.campaigns.put(no, { ...record, ...made });
    campaigns.campaignIds.put(id, no);
  });
}

/**
 * Gives a code rules below what the API checks: its record and link as a change writes them.
 * @param fields undefined = plain again
 */
export async function route(
  store: Management,
  codes: Codes,
  code: QrCodeRecord,
  fields: Partial<Routing> | undefined,
): Promise<QrCodeRecord> {
  const { routing: _, ...plain } = code;
  const routed = fields === undefined ? plain : { ...plain, routing: routingOf(fields) };
  await store.environment.transaction(() => {
    store.codes.put(code.no, packCode(routed));
    codes.links.write(routed);
  });
  codes.links.publish(routed);
  return routed;
}

/** The real shared-memory table, and what a redirect thread sees in it: a target, `gone`, `unknown`, or why not. */
export function openTable() {
  const memory = createLinkTableMemory({ ...addressSpace, readersMax: 1, linksExpected: 16 });
  const reader = new LinkReader(memory, 0);
  const links = new LinkWriter(memory, systemClock);
  const see = (code: string): string => {
    reader.enter();
    try {
      const handle = reader.find(`/${code}`, 1);
      if (handle === 0) return 'unknown';
      const state = reader.state(handle);
      if (state !== 'live') return state === 'deleted' ? 'gone' : state;
      if (!reader.takeScan(handle)) return 'over its limit';
      return Buffer.from(reader.target(handle)).toString('latin1');
    } finally {
      reader.leave();
    }
  };
  return { links, reader, see };
}

/** Flips a bit of each record of a table whose key is meant, without a restart. */
export async function damage(
  { dataDir, store }: TestApp,
  table: string,
  isMeant: (key: string, at: number) => boolean,
): Promise<void> {
  const stored = new StoredBytes(join(dataDir, 'management.mdb'));
  const keys = stored.keys(table).filter((key, at) => isMeant(key.toString('latin1'), at));
  for (const key of keys) stored.flip(table, key, 300);
  await stored.close();
  store.environment.refresh();
}
