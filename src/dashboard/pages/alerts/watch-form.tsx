/** The form for what a watch looks for, in a dialog: for a new one and a known one. */
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
  /** Absent = a new one. */
  readonly watch?: Watch | undefined;
  readonly subject: WatchSubject;
  /** A static code has no scans. */
  readonly isScanned: boolean;
  readonly onClose: () => void;
}

const hoursUsual = '24';

/** Empty = it is not looked for. */
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
    <Dialog title={watch === undefined ? 'Watch' : 'Change the watch'} onClose={onClose}>
      <DialogForm form={form} action="Save" onSubmit={save} onClose={onClose}>
        {isScanned && (
          <>
            <TextField
              label="Hours without a scan"
              type="number"
              isOptional
              min={1}
              max={336}
              {...form.field('silentHours')}
              hint="Only where the same hours of the week usually have scans. Empty: not looked for"
            />
            <TextField
              label="Times the average of an hour"
              type="number"
              isOptional
              min={2}
              max={100}
              {...form.field('spikeFactor')}
              hint="Tells of an hour with so many more scans than usual. Empty: not looked for"
            />
          </>
        )}
        <CheckField
          label="Check where it leads"
          hint="Once a day; it tells when an address fails twice, an hour apart"
          checked={target}
          onChange={setTarget}
        />
        <CheckField
          label="E-mail me"
          hint="Where the operator has set up a mail server; webhooks and the dashboard always tell"
          checked={isMailed}
          onChange={setMailed}
        />
      </DialogForm>
    </Dialog>
  );
}
