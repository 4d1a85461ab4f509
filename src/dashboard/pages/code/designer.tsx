/**
 * The design editor: the service draws every change, checks that it can be scanned, and the result is shown.
 * Changes take effect when saved; an unscannable design cannot be saved.
 */
import { Form } from '../../parts/form.tsx';
import { useEffect, useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { askBeforeLeaving } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { Design } from '../../../model/design.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Card } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { DesignFields } from './design-fields.tsx';
import { type Preview, usePreview } from './preview.ts';

/** The merge patch from one design to another: null resets a field. */
function patchOf(before: Design, after: Design): Record<string, unknown> {
  const removed = Object.keys(before).filter((key) => !(key in after));
  return { ...Object.fromEntries(removed.map((key) => [key, null])), ...after };
}

export function Designer({ code }: { readonly code: QrCode }) {
  const saved = code.design ?? {};
  const [design, setDesign] = useState<Design>(saved);
  const preview = usePreview(code, design);
  const form = useForm({});
  const isChanged = JSON.stringify(design) !== JSON.stringify(saved);
  useEffect(() => askBeforeLeaving(() => isChanged), [isChanged]);
  const save = async (): Promise<void> => {
    const body = { design: patchOf(saved, design) };
    const answer = await call<QrCode>('PATCH', `/qr-codes/${code.id}`, { body });
    storeAnswer(`/qr-codes/${code.id}`, answer);
    setDesign(answer.design ?? {});
    invalidate('/qr-codes?', '/events');
    say('Design saved. Codes you have already printed keep working.');
  };
  const isRefused = preview.status === 'unscannable';
  return (
    <Card title="Design" lead="Codes you have already printed keep working.">
      <div class="designer">
        <Form
          form={form}
          action={may('editor') && 'Save design'}
          disabled={!isChanged || isRefused}
          onSubmit={save}
          more={
            <>
              <Button disabled={!isChanged} onClick={() => setDesign(saved)}>
                Discard changes
              </Button>
              <Button tone="quiet" onClick={() => setDesign({})}>
                Reset to default
              </Button>
            </>
          }
        >
          <fieldset class="bare" disabled={!may('editor')}>
            <DesignFields design={design} onChange={setDesign} />
          </fieldset>
        </Form>
        <PreviewPane preview={preview} />
      </div>
    </Card>
  );
}

function PreviewPane({ preview }: { readonly preview: Preview }) {
  const { url, status, problem, isBusy, redraw } = preview;
  return (
    <div class="preview">
      <div class={`checker${isBusy ? ' stale' : ''}`}>
        {status === 'unscannable' ? (
          // The current picture shows another design.
          <div class="no-picture">
            <Icon name="warning" size={26} />
            <p>No picture</p>
          </div>
        ) : (
          <img class="code-image" src={url} alt="How the code will look" width={260} height={260} />
        )}
      </div>
      <div aria-live="polite">
        {status === 'scannable' && (
          <Notice tone="good" title="Scans well">
            <p>A small, slightly blurred copy was decoded.</p>
          </Notice>
        )}
        {status === 'unscannable' && problem !== undefined && (
          <Notice tone="warn" title="Cannot be scanned">
            <p>{problem.faults[0]?.message ?? problem.message}</p>
          </Notice>
        )}
        {status === 'unknown' && problem !== undefined && (
          <ProblemNotice problem={problem} onRetry={redraw} />
        )}
      </div>
    </div>
  );
}
