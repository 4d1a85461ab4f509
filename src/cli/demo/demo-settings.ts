/** The settings of a demo: those of the environment, but for what would take it out of its folder, or to other machines. */
import type { Environment } from '../../environment.ts';
import { receiverNetwork } from './receiver.ts';
import { owner } from './workspace.ts';

export interface SettingsOptions {
  readonly environment: Environment;
  readonly folder: string;
  /** Of its owner, at its first start. */
  readonly password?: string;
}

/** A file of settings is not read: it is of another service. */
export const demoSettings = ({ environment, folder, password }: SettingsOptions): Environment => ({
  ...environment,
  QZ_CONFIG: undefined,
  QZ_DATA_DIR: folder,
  QZ_BOOTSTRAP_EMAIL: owner,
  QZ_BOOTSTRAP_PASSWORD: password,
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_WEBHOOKS_ALLOW_NETWORKS: receiverNetwork,
  QZ_CLUSTER_NATS: '',
});
