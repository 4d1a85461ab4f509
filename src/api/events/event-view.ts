/**
 * An event for a member of its workspace: the envelope that webhooks carry, without fields above the member's role.
 * Invites are for admins, so the address of an invited person is too.
 */
import { type EventEnvelope, type EventKind, hiddenEmail } from '../../model/event.ts';
import { type Role, roleAtLeast } from '../../model/workspace.ts';

/** @param body the stored envelope as JSON */
export function eventText(kind: EventKind, body: string, role: Role): string {
  if (kind !== 'member.invited' || roleAtLeast(role, 'admin')) return body;
  const { data, ...envelope }: EventEnvelope = JSON.parse(body);
  return JSON.stringify({ ...envelope, data: { ...data, email: hiddenEmail } });
}
