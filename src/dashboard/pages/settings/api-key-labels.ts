/** API keys: the API's types, and their labels. */
import type { Role } from '../../../model/workspace.ts';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
}

export type MadeKey = ApiKey & { readonly key: string };
