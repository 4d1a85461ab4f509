/** The form of an alert in a dialog, to create and to edit one. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { CheckField, TextField } from '../../parts/field.tsx';
import { DialogForm } from '../../parts/form.tsx';
import { say } from '../../parts/toast.tsx';
import type { Watch } from './alert-labels.ts';

export interface WatchSubject {
  readonly qrCodeId?: string;
  readonly campaignId?: string;
}

interface FormProps {
  /** Absent = a new alert. */
  readonly watch?: Watch | undefined;
  readonly subject: WatchSubject;
  /** A static code has no scans. */
  readonly isScanned: boolean;
  readonly onClose: () => void;
}

const hoursUsual = '24';

/** Empty = off. */
const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));

export function WatchForm({ watch, subject, isScanned, onClose }: FormProps) {
  const own = currentSession().user.id;
  const [target, setTarget] = useState(watch?.target ?? true);
  const [isMailed, setMailed] = useState(watch?.mailTo.includes(own) ?? false);
  const usual = isScanned ? hoursUsual : '';
  const form = useForm({
    silentHours: watch === undefined ? usual : String(watch.silentHours ?? ''),
    spikeFactor: String(watch?.spikeFactor ?? ''),
  });
  const save = async (): Promise<void> => {
    const silentHours = numberOf(form.texts.silentHours);
    const spikeFactor = numberOf(form.texts.spikeFactor);
    if (watch === undefined) {
      const scans = {
        ...(silentHours === null ? {} : { silentHours }),
        ...(spikeFactor === null ? {} : { spikeFactor }),
      };
      await call('POST', '/watches', { body: { ...subject, ...scans, target, mail: isMailed } });
    } else {
      const body = { silentHours, spikeFactor, target, mail: isMailed };
      await call('PATCH', `/watches/${watch.id}`, { body });
    }
    invalidate('/watches');
    say('Changes saved.');
    onClose();
  };
  return (
    <Dialog title={watch === undefined ? 'New alert' : 'Edit alert'} onClose={onClose}>
      <DialogForm form={form} action="Save" onSubmit={save} onClose={onClose}>
        {isScanned && (
          <>
            <TextField
              label="Hours without scans"
              type="number"
              isOptional
              min={1}
              max={336}
              {...form.field('silentHours')}
              hint="Counts only hours that usually have scans. Leave empty to turn off."
            />
            <TextField
              label="Times the usual scans in an hour"
              type="number"
              isOptional
              min={2}
              max={100}
              {...form.field('spikeFactor')}
              hint="Alerts when an hour has this many times the usual scans. Leave empty to turn off."
            />
          </>
        )}
        <CheckField
          label="Check the destinations"
          hint="Once a day. Alerts when an address fails twice, an hour apart."
          checked={target}
          onChange={setTarget}
        />
        <CheckField
          label="E-mail me"
          hint="Needs a mail server. Webhooks and the dashboard always show alerts."
          checked={isMailed}
          onChange={setMailed}
        />
      </DialogForm>
    </Dialog>
  );
}
