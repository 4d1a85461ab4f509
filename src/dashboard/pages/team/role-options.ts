/** Roles in people's words, and those that somebody may give. */
import { type Role, roleAtLeast, roles } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';

const roleWords: Readonly<Record<Role, string>> = {
  owner: 'everything, billing too',
  admin: 'team, API keys and webhooks too',
  editor: 'makes and changes codes and campaigns',
  viewer: 'reads',
};

/** Nobody grants above their own role. */
export const rolesUpTo = (own: Role) =>
  roles
    .filter((role) => roleAtLeast(own, role))
    .map((value) => ({ value, label: `${capitalize(value)}: ${roleWords[value]}` }));
