/**
 * An event as a member of its workspace sees it: the envelope that webhooks carry, without what is above their role.
 * Invites are for admins, so the address of somebody who was invited is for admins too.
 */
import { type EventEnvelope, type EventKind, hiddenEmail } from '../../model/event.ts';
import { type Role, roleAtLeast } from '../../model/workspace.ts';

/** @param body the stored envelope as JSON */
export function eventText(kind: EventKind, body: string, role: Role): string {
  if (kind !== 'member.invited' || roleAtLeast(role, 'admin')) return body;
  const { data, ...envelope }: EventEnvelope = JSON.parse(body);
  return JSON.stringify({ ...envelope, data: { ...data, email: hiddenEmail } });
}
