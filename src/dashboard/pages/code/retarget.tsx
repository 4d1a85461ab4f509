/**
 * Changes the destination of a code. This takes effect at once for every print, so the dialog shows both addresses and
 * the rules that still lead elsewhere.
 */
import { PlainForm, SubmitButton } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import { withScheme } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { useForm } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Fact } from '../../parts/list.tsx';
import { Notice } from '../../parts/notice.tsx';
import { say } from '../../parts/toast.tsx';
import { type OtherRoutes, otherRoutes } from './other-routes.ts';

interface RetargetProps {
  readonly code: QrCode;
  readonly onClose: () => void;
}

const doneText = 'Saved. Every print now leads to the new destination.';

export function Retarget({ code, onClose }: RetargetProps) {
  const form = useForm({ target: code.target });
  const [isAsking, setAsking] = useState(false);
  const target = withScheme(form.texts.target);
  const isNew = target !== '' && target !== code.target;
  const other = otherRoutes(code, target);
  const question = `Change the destination${other === undefined ? ' of every print' : ''}?`;
  const change = async (): Promise<void> => {
    try {
      const answer = await call<QrCode>('PATCH', `/qr-codes/${code.id}`, { body: { target } });
      storeAnswer(`/qr-codes/${code.id}`, answer);
      const rest = otherRoutes(answer, answer.target)?.text;
      say(rest === undefined ? doneText : `Destination changed. ${rest}.`);
    } catch (error) {
      setAsking(false);
      throw error;
    }
    invalidate('/qr-codes?', '/events');
    onClose();
  };
  return (
    <Dialog title={isAsking ? question : 'Change destination'} onClose={onClose}>
      <PlainForm
        class="dialog-form"
        form={form}
        onSubmit={async () => {
          if (isAsking) await change();
          else if (isNew) setAsking(true);
        }}
        foot={
          <footer class="dialog-foot">
            {isAsking ? (
              <Button onClick={() => setAsking(false)}>Back</Button>
            ) : (
              <Button onClick={onClose}>Cancel</Button>
            )}
            <SubmitButton
              key={isAsking ? 'ask' : 'type'}
              form={form}
              action={isAsking ? 'Change it now' : 'Continue'}
              hasFocus={isAsking}
              disabled={!isAsking && !isNew}
            />
          </footer>
        }
      >
        {isAsking ? (
          <Comparison before={code.target} after={target} />
        ) : (
          <TextField
            label="New destination"
            type="url"
            {...form.field('target')}
            hasFocus
            hint="Codes that you have printed stay the same."
          />
        )}
        {other && <OtherNotice key={String(isAsking)} other={other} onReview={onClose} />}
      </PlainForm>
    </Dialog>
  );
}

interface ComparisonProps {
  readonly before: string;
  readonly after: string;
}

function Comparison({ before, after }: ComparisonProps) {
  return (
    <dl class="facts">
      <Fact label="Now">{before}</Fact>
      <Fact label="New">
        <b>{after}</b>
      </Fact>
    </dl>
  );
}

interface OtherProps {
  readonly other: OtherRoutes;
  readonly onReview: () => void;
}

function OtherNotice({ other: { text, lines, address }, onReview }: OtherProps) {
  return (
    <div role="alert">
      <Notice tone="warn" title={text}>
        <ul class="prose">
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
        <a href={address} onClick={onReview}>
          Review where it leads
        </a>
      </Notice>
    </div>
  );
}
