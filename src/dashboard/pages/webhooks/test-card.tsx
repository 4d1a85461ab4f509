/** Sends a signed sample event, and shows the receiver's answer. */
import { useState } from 'preact/hooks';
import { type EventKind, eventKinds } from '../../../model/event.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { useSubmission } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
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
  const form = useSubmission();
  const test = async (): Promise<void> => {
    setResult(undefined);
    const body = { event: kind };
    setResult(await call<TestResult>('POST', `/webhooks/${endpointId}/test`, { body }));
    invalidate(`/webhooks/${endpointId}`);
  };
  return (
    <Card title="Test" lead="Sends a signed sample event now.">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          form.submit(test);
        }}
      >
        <SelectField label="Event" value={kind} options={kinds} onChange={setKind} />
        <div class="form-foot">
          <Button type="submit" isBusy={form.isBusy}>
            Send test
          </Button>
        </div>
        {form.problem && <ProblemNotice problem={form.problem} />}
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
      </form>
    </Card>
  );
}
