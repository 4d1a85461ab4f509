/** Rotates a key or secret: creates a new one; the old one stays valid for a chosen time. */
import { DialogForm } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { useForm } from '../../client/use-form.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import type { ApiKey, MadeKey } from './api-key-labels.ts';

interface RotateProps {
  readonly of: ApiKey;
  readonly onMade: (key: MadeKey) => void;
  readonly onClose: () => void;
}

const overlaps = [
  { value: '0', label: 'Not at all' },
  { value: '3600', label: '1 hour' },
  { value: '86400', label: '1 day' },
  { value: '604800', label: '1 week' },
] as const;
export type Overlap = (typeof overlaps)[number]['value'];

interface OverlapProps {
  readonly what: 'key' | 'secret';
  readonly value: Overlap;
  readonly onChange: (value: Overlap) => void;
  readonly warning: string;
}

export function OverlapField({ what, value, onChange, warning }: OverlapProps) {
  return (
    <div class="field">
      <SelectField
        label={`Keep the old ${what} valid for`}
        value={value}
        options={overlaps}
        onChange={onChange}
      />
      <div role="status">
        {value === '0' && (
          <Notice tone="warn" title={`The old ${what} stops working at once`}>
            <p>{warning}</p>
          </Notice>
        )}
      </div>
    </div>
  );
}

export function RotateKey({ of, onMade, onClose }: RotateProps) {
  const [overlap, setOverlap] = useState<Overlap>('86400');
  const form = useForm({});
  const rotate = async (): Promise<void> => {
    const body = { overlapSeconds: Number(overlap) };
    onMade(await call<MadeKey>('POST', `/api-keys/${of.id}/rotate`, { body }));
  };
  return (
    <Dialog title={`Rotate “${of.name}”`} onClose={onClose}>
      <DialogForm
        form={form}
        action="Create new key"
        tone={overlap === '0' ? 'danger' : 'accent'}
        onSubmit={rotate}
        onClose={onClose}
      >
        <p>Creates a new key with the same name and role. Redirects are not affected.</p>
        <OverlapField
          what="key"
          value={overlap}
          onChange={setOverlap}
          warning="Programs that use it lose access until they have the new key."
        />
      </DialogForm>
    </Dialog>
  );
}
