/** Roles in people's words, and those that somebody may give. */
import { type Role, roleAtLeast, roles } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';

export const roleWords: Readonly<Record<Role, string>> = {
  owner: 'full access, including billing',
  admin: 'also team, API keys and webhooks',
  editor: 'creates and edits codes and campaigns',
  viewer: 'can only view',
};

/** Nobody grants above their own role. */
export const rolesUpTo = (own: Role) =>
  roles
    .filter((role) => roleAtLeast(own, role))
    .map((value) => ({ value, label: `${capitalize(value)}: ${roleWords[value]}` }));
