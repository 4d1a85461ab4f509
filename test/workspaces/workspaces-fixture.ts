/** The workspace services on a real store, with a first workspace and cheap password hashes. */
import { getRandomValues } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createIdSource } from '../../src/model/ids.ts';
import type { Plan } from '../../src/model/workspace.ts';
import { openWorkspaceServices, type WorkspaceServices } from '../../src/workspaces/services.ts';
import type { Bootstrapped } from '../../src/workspaces/workspaces.ts';
import {
  HandClock,
  temporaryManagement,
  type TemporaryManagement,
} from '../store/temporary-management.ts';

export interface WorkspacesFixture {
  readonly temporary: TemporaryManagement;
  readonly clock: HandClock;
  readonly first: Bootstrapped;
  services: WorkspaceServices;
  restart(): Promise<void>;
}

export async function openWorkspacesFixture(
  plan: Plan = 'free',
  passwordCostLog2 = 4,
): Promise<WorkspacesFixture> {
  const temporary = temporaryManagement();
  const clock = new HandClock();
  const open = (): WorkspaceServices =>
    openWorkspaceServices({
      store: temporary.store,
      ids: createIdSource(clock, getRandomValues),
      clock,
      randomBytes: getRandomValues,
      dataDir: temporary.folder,
      passwordCostLog2,
    });
  const services = open();
  const first = await services.workspaces.bootstrap({
    email: 'Jane@Example.com',
    password: '',
    plan,
  });
  if (first === undefined)
    throw new Error('Cannot make the first workspace, expected an empty store');
  const fixture: WorkspacesFixture = {
    temporary,
    clock,
    first,
    services,
    async restart() {
      await fixture.services.close();
      await temporary.reopen();
      fixture.services = open();
    },
  };
  onTestFinished(async () => await fixture.services.close());
  return fixture;
}
