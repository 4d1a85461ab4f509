/**
 * What the benches of webhooks write into the folder of a service that runs, from this process and by the modules of
 * the revision that serves it: keys, and events that nobody has to cause.
 *
 * The service looks for commits of other processes once a second, so events of one transaction are found together:
 * from the first that is sent to the last nothing waits for this process.
 */
import { randomFillSync } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type * as Admin from '../../../src/app/administration/administration.ts';
import type * as Configuration from '../../../src/platform/config/config.ts';
import type * as Folder from '../../../src/app/folder/data-folder.ts';
import type { EventKind } from '../../../src/model/event.ts';
import type * as Ids from '../../../src/model/ids.ts';
import type * as OutboxModule from '../../../src/webhooks/outbox.ts';
import type * as ManagementModule from '../../../src/store/management/management.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import type { Service } from '../arena.ts';

const pollMs = 20;
const lateMsMax = 60_000;
/** The first workspace. */
const workspaceNo = 1;

/** A key of an owner to each of so many workspaces, on the largest plan; the first exists. */
export async function makeKeys(
  { dataDir, tree }: Pick<Service, 'dataDir' | 'tree'>,
  count: number,
): Promise<string[]> {
  const { openAdministration }: typeof Admin = await import(
    join(tree, 'src/app/administration/administration.ts')
  );
  const { loadConfig }: typeof Configuration = await import(
    join(tree, 'src/platform/config/config.ts')
  );
  const administration = openAdministration(loadConfig(undefined, { QZ_DATA_DIR: dataDir }));
  const { keys, users, workspaces } = administration.services;
  const owner = users.firstOwner(workspaceNo);
  if (owner === undefined) throw new Error('Cannot measure: the workspace has no owner');
  const tokens: string[] = [];
  for (let at = 0; at < count; at++) {
    const no = at === 0 ? workspaceNo : (await workspaces.create(owner.id, `Bench ${at}`)).no;
    await workspaces.setPlan(no, 'enterprise');
    const key = { workspaceNo: no, userId: owner.id, name: 'Bench', role: 'owner' } as const;
    tokens.push((await keys.create(key)).token);
  }
  await administration.close();
  return tokens;
}

export interface EventFeed {
  /** Appends events of these kinds in turn, in one transaction. @returns the bytes of a body */
  feed(kinds: readonly EventKind[], count: number): Promise<number>;
  close(): Promise<void>;
}

export async function openEventFeed({ dataDir, tree }: Service): Promise<EventFeed> {
  const { openDataFolder }: typeof Folder = await import(
    join(tree, 'src/app/folder/data-folder.ts')
  );
  const { openManagement }: typeof ManagementModule = await import(
    join(tree, 'src/store/management/management.ts')
  );
  const { Outbox }: typeof OutboxModule = await import(join(tree, 'src/webhooks/outbox.ts'));
  const { createIdSource }: typeof Ids = await import(join(tree, 'src/model/ids.ts'));
  const store = openManagement(openDataFolder(dataDir).managementFile);
  const ids = createIdSource(systemClock, (bytes) => randomFillSync(bytes));
  const outbox = new Outbox(store, ids, systemClock);
  const append = (kind: EventKind): number => {
    const nowMs = systemClock.now();
    const data = {
      qrId: ids.newId('qr'),
      scannedAt: new Date(nowMs).toISOString(),
      country: 'DE',
      city: 'Berlin',
      device: 'mobile',
      os: 'iOS',
      referer: null,
    };
    return outbox.append(kind, workspaceNo, data, nowMs).body.length;
  };
  return {
    feed: (kinds, count) =>
      store.environment.transaction(() => {
        let bytes = 0;
        for (let at = 0; at < count; at++) bytes = append(kinds[at % kinds.length]!);
        return bytes;
      }),
    close: () => store.close(),
  };
}

/** The API listens a moment after the redirects do. @throws Error when the service ended, or does not listen */
export async function apiListens({ apiPort, server }: Service): Promise<void> {
  for (let waitedMs = 0; waitedMs < lateMsMax; waitedMs += pollMs) {
    const url = `http://127.0.0.1:${apiPort}/health/live`;
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return;
    server.assertRuns();
    await wait(pollMs);
  }
  throw new Error('Cannot measure: the API does not listen');
}

export interface ApiCall {
  readonly method: string;
  /** Behind /v1. */
  readonly path: string;
  readonly body: object;
}

/** @returns the id in the answer. @throws Error when the service refuses */
export async function callApi(
  { apiPort }: Service,
  key: string,
  { method, path, body }: ApiCall,
): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${apiPort}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`Wrong answer: ${method} ${path}: ${answer.status} ${text}`);
  const made: { readonly id: string } = JSON.parse(text);
  return made.id;
}
