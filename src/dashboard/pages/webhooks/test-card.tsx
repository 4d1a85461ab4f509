/** Sends a signed sample event, and shows the receiver's answer. */
import { Form } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import { type EventKind, eventKinds } from '../../../model/event.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { useForm } from '../../client/use-form.ts';
import { SelectField } from '../../parts/field.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card } from '../../parts/page.tsx';
import { type Attempt, attemptText } from './webhook-labels.ts';

interface TestResult {
  readonly delivered: boolean;
  readonly attempt: Attempt;
}

const kinds = eventKinds.map((value) => ({ value, label: value }));

export function TestCard({ endpointId }: { readonly endpointId: string }) {
  const [kind, setKind] = useState<EventKind>('qr.scanned');
  const [result, setResult] = useState<TestResult>();
  const form = useForm({});
  const test = async (): Promise<void> => {
    setResult(undefined);
    const body = { event: kind };
    setResult(await call<TestResult>('POST', `/webhooks/${endpointId}/test`, { body }));
    invalidate(`/webhooks/${endpointId}`);
  };
  return (
    <Card title="Test" lead="Sends a signed sample event now.">
      <div class="form">
        <Form form={form} action="Send test" tone="plain" onSubmit={test}>
          <SelectField label="Event" value={kind} options={kinds} onChange={setKind} />
        </Form>
        <div aria-live="polite">
          {result !== undefined && (
            <Notice
              tone={result.delivered ? 'good' : 'warn'}
              title={`${attemptText(result.attempt)}, after ${Math.round(result.attempt.durationMs)} ms`}
            >
              {result.attempt.answer !== null && result.attempt.answer !== '' && (
                <pre class="answer" tabIndex={0}>
                  {result.attempt.answer}
                </pre>
              )}
            </Notice>
          )}
        </div>
      </div>
    </Card>
  );
}
