/**
 * Changes the destination of a code. It takes effect at once for every print, so both addresses are shown for
 * confirmation.
 */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { useSubmission } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Fact } from '../../parts/list.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { say } from '../../parts/toast.tsx';
import { withScheme } from '../codes/target-fields.tsx';

interface RetargetProps {
  readonly code: QrCode;
  readonly onClose: () => void;
}

export function Retarget({ code, onClose }: RetargetProps) {
  const [text, setText] = useState(code.target);
  const [isAsking, setAsking] = useState(false);
  const form = useSubmission();
  const target = withScheme(text);
  const change = async (): Promise<void> => {
    try {
      const answer = await call<QrCode>('PATCH', `/qr-codes/${code.id}`, { body: { target } });
      storeAnswer(`/qr-codes/${code.id}`, answer);
    } catch (error) {
      setAsking(false);
      throw error;
    }
    invalidate('/qr-codes?', '/events');
    say('Done. Every print now leads to the new destination.');
    onClose();
  };
  const problem = form.otherProblem(['target']);
  return (
    <Dialog
      title={isAsking ? 'Change the destination of every print?' : 'Change destination'}
      onClose={onClose}
    >
      <Form
        class="dialog-form"
        onSubmit={() => {
          if (isAsking) form.submit(change);
          else if (target !== '' && target !== code.target) setAsking(true);
        }}
      >
        {isAsking ? (
          <Comparison before={code.target} after={target} />
        ) : (
          <TextField
            label="New destination"
            type="url"
            value={text}
            onInput={setText}
            hasFocus
            fault={form.faultOf('target')}
            hint="Codes you have already printed stay the same."
          />
        )}
        {problem && <ProblemNotice problem={problem} />}
        <footer class="dialog-foot">
          {isAsking ? (
            <Button onClick={() => setAsking(false)}>Back</Button>
          ) : (
            <Button onClick={onClose}>Cancel</Button>
          )}
          <Button
            key={isAsking ? 'ask' : 'type'}
            hasFocus={isAsking}
            type="submit"
            tone="accent"
            isBusy={form.isBusy}
            disabled={!isAsking && (target === '' || target === code.target)}
          >
            {isAsking ? 'Change it now' : 'Continue'}
          </Button>
        </footer>
      </Form>
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
      <Fact label="Currently">{before}</Fact>
      <Fact label="New">
        <b>{after}</b>
      </Fact>
    </dl>
  );
}
