/** Whether a code still redirects. */
import type { CodeStatus } from '../../../model/code.ts';
import { Badge } from '../../parts/list.tsx';

export const statusLabels: Readonly<Record<CodeStatus, string>> = {
  active: 'Active',
  paused: 'Paused',
  not_started: 'Not started',
  expired: 'Expired',
  used_up: 'Limit reached',
};

/** Empty for a code that redirects. */
export function StatusBadge({ status }: { readonly status: CodeStatus }) {
  if (status === 'active') return null;
  return <Badge tone="bad">{statusLabels[status]}</Badge>;
}
