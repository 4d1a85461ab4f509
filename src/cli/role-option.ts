/** `--role`, of `serve` and of what asks the service about its role. */
import { Option } from 'commander';

export const roleOption = (): Option =>
  new Option('--role <role>', 'of this machine in a cluster (cluster.role)').choices([
    'all',
    'core',
    'edge',
  ]);
