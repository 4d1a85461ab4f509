/** The modules behind the operations of commands (operations.ts), in a running service or over a folder without one. */
import { importedDrafts } from '../../api/codes/code-bodies.ts';
import type { Billing } from '../../product/billing/billing.ts';
import type { CodeDraft } from '../../product/codes/code-creation.ts';
import type { Codes } from '../../product/codes/codes.ts';
import { noLinkTable } from '../../product/codes/links/link-table.ts';
import type { Config } from '../../platform/config/config.ts';
import { type DataFolder, openDataFolder } from '../folder/data-folder.ts';
import type { FirstStart } from '../folder/first-start.ts';
import type { Failure } from '../../model/failure.ts';
import {
  type Base,
  type Machine,
  openBase,
  openBillingModule,
  openCodeModule,
  openFirstStart,
  openWorkspaceModule,
  thisMachine,
} from '../modules.ts';
import { createLog } from '../../platform/log.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';

export interface Administration {
  readonly services: WorkspaceServices;
  readonly codes: Codes;
  /** Checks an import's row as the body of a new code. */
  readonly draftOf: (row: unknown) => CodeDraft | Failure;
  /** Without a payment provider: an operator confirms payments. */
  readonly billing: Billing;
}

export interface OpenAdministration extends Administration {
  readonly firstStart: FirstStart;
  close(): Promise<void>;
}

/** In a running service. */
export function administrationOf(
  base: Base,
  codes: Codes,
  services: WorkspaceServices,
): Administration {
  return {
    services,
    codes,
    draftOf: importedDrafts(base.config.shortUrlBase),
    billing: openBillingModule(base, { workspaces: services, provider: undefined }),
  };
}

/** Over a folder that the caller has locked. */
export function openAdministration(
  config: Config,
  folder: DataFolder = openDataFolder(config.dataDir),
  machine: Machine = thisMachine,
): OpenAdministration {
  const log = createLog(config.log.level, process.stderr);
  const base = openBase({ ...machine, config, folder, log });
  const services = openWorkspaceModule(base);
  const codes = openCodeModule(base, { links: noLinkTable, scansOf: () => 0 });
  return {
    ...administrationOf(base, codes, services),
    firstStart: openFirstStart(base, services),
    async close() {
      await services.close();
      await base.management.close();
    },
  };
}
