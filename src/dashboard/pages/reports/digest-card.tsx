/** A weekly or monthly mail with the workspace's numbers; hidden without a mail server. */
import { useState } from 'preact/hooks';
import type { DigestFrequency } from '../../../model/reports/report.ts';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { storeAnswer, useResource } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { ChoiceField } from '../../parts/field.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { Card } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';

type Frequency = DigestFrequency | 'off';

interface Digest {
  readonly available: boolean;
  readonly frequency: Frequency;
  readonly nextAt: string | null;
}

const path = '/profile/digest';
const frequencies: ReadonlyArray<{ value: Frequency; label: string }> = [
  { value: 'off', label: 'Never' },
  { value: 'weekly', label: 'Each week' },
  { value: 'monthly', label: 'Each month' },
];

export function DigestCard() {
  const { data } = useResource<Digest>(path);
  const [problem, setProblem] = useState<Problem>();
  if (data === undefined || (!data.available && data.frequency === 'off')) return null;
  const choose = async (frequency: Frequency): Promise<void> => {
    setProblem(undefined);
    try {
      storeAnswer(path, await call<Digest>('PUT', path, { body: { frequency } }));
      say(frequency === 'off' ? 'You get no more report e-mails.' : 'Saved.');
    } catch (error) {
      setProblem(problemOf(error));
    }
  };
  return (
    <Card
      title="Report by e-mail"
      lead={`Scans, codes and countries of ${currentSession().workspace.name}, to your address.`}
    >
      <div class="stack">
        <ChoiceField
          legend="How often"
          value={data.frequency}
          options={frequencies}
          onChange={(frequency) => void choose(frequency)}
        />
        {data.nextAt !== null && (
          <p class="soft">
            The next one comes <Time iso={data.nextAt} style="full" />.
          </p>
        )}
        {problem && <ProblemNotice problem={problem} />}
      </div>
    </Card>
  );
}
