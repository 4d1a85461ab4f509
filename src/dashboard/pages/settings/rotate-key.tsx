/** Rotates a key: a new secret, while the old one stays valid for a chosen time. */
import { DialogForm } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { useForm } from '../../client/use-form.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import type { ApiKey, MadeKey } from './api-key-labels.ts';

interface RotateProps {
  readonly of: ApiKey;
  readonly onMade: (key: MadeKey) => void;
  readonly onClose: () => void;
}

export const overlaps = [
  { value: '0', label: 'Not at all' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '1 week' },
] as const;
export type Overlap = (typeof overlaps)[number]['value'];

export function RotateKey({ of, onMade, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState<Overlap>('86400');
  const form = useForm({});
  const rotate = async (): Promise<void> => {
    const body = { overlapSeconds: Number(overlap) };
    onMade(await call<MadeKey>('POST', `/api-keys/${of.id}/rotate`, { body }));
  };
  return (
    <Dialog title={`Rotate “${of.name}”`} onClose={onClose}>
      <DialogForm form={form} action="Create new key" onSubmit={rotate} onClose={onClose}>
        <p>Creates a new key with the same name and role. Redirects are not affected.</p>
        <SelectField
          label="Keep the old key valid for"
          value={overlap}
          options={overlaps}
          onChange={setOverlap}
        />
      </DialogForm>
    </Dialog>
  );
}
