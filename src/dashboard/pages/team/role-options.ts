/** Descriptions of roles, and the roles that a user may grant. */
import { type Role, roleAtLeast, roles } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';

export const roleLabels: Readonly<Record<Role, string>> = {
  owner: 'full access, including billing',
  admin: 'also team, API keys and webhooks',
  editor: 'creates and edits codes and campaigns',
  viewer: 'can only view',
};

/** Users cannot grant a role above their own. */
export const rolesUpTo = (own: Role) =>
  roles
    .filter((role) => roleAtLeast(own, role))
    .map((value) => ({ value, label: `${capitalize(value)}: ${roleLabels[value]}` }));
