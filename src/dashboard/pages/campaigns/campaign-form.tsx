/** Creates a campaign; the form also edits one. */
import { useState } from 'preact/hooks';
import { now } from '../../client/browser-clock.ts';
import { utcDay } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { useSubmission } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { Campaign } from './campaign-labels.ts';
import { CodePicker } from './code-picker.tsx';

interface Draft {
  readonly name: string;
  readonly startDate: string;
  readonly endDate: string;
  readonly qrCodeIds: readonly string[];
}

interface FormProps {
  readonly start: Draft;
  readonly action: string;
  readonly onSave: (draft: Draft) => Promise<void>;
  readonly onCancel: () => void;
}

const shownPaths = ['name', 'startDate', 'endDate', 'qrCodeIds'];

export function CampaignForm({ start, action, onSave, onCancel }: FormProps) {
  const [draft, setDraft] = useState(start);
  const form = useSubmission();
  const set = (name: keyof Draft) => (text: string) => setDraft({ ...draft, [name]: text });
  const problem = form.otherProblem(shownPaths);
  return (
    <Form class="form" onSubmit={() => form.submit(() => onSave(draft))}>
      <TextField
        label="Name"
        value={draft.name}
        onInput={set('name')}
        fault={form.faultOf('name')}
        lengthMax={120}
      />
      <div class="form-row">
        <TextField
          label="First day"
          type="date"
          value={draft.startDate}
          onInput={set('startDate')}
          fault={form.faultOf('startDate')}
          hint="Days are in UTC"
        />
        <TextField
          label="Last day"
          isOptional
          type="date"
          value={draft.endDate}
          min={draft.startDate}
          onInput={set('endDate')}
          fault={form.faultOf('endDate')}
          hint="Inclusive; empty runs without end"
        />
      </div>
      <CodePicker
        chosen={draft.qrCodeIds}
        onChange={(qrCodeIds) => setDraft({ ...draft, qrCodeIds })}
        fault={form.faultOf('qrCodeIds')}
      />
      {problem && <ProblemNotice problem={problem} />}
      <div class="form-foot">
        <Button type="submit" tone="accent" isBusy={form.isBusy}>
          {action}
        </Button>
        <Button tone="quiet" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Form>
  );
}

/** The body of POST or PATCH. */
export const campaignBody = ({ name, startDate, endDate, qrCodeIds }: Draft) => ({
  name: name.trim(),
  startDate,
  endDate: endDate === '' ? null : endDate,
  qrCodeIds,
});

export function NewCampaignPage() {
  const today = utcDay(now());
  const start = { name: '', startDate: today, endDate: '', qrCodeIds: [] };
  const save = async (draft: Draft): Promise<void> => {
    const campaign = await call<Campaign>('POST', '/campaigns', { body: campaignBody(draft) });
    storeAnswer(`/campaigns/${campaign.id}`, campaign);
    invalidate('/campaigns?');
    say('Campaign created.');
    navigate(pathTo('campaign', { id: campaign.id }));
  };
  return (
    <Page title="New campaign" back={{ href: pathTo('campaigns'), label: 'Campaigns' }}>
      <div class="page-narrow">
        <Card>
          <CampaignForm
            start={start}
            action="Create campaign"
            onSave={save}
            onCancel={() => navigate(pathTo('campaigns'))}
          />
        </Card>
      </div>
    </Page>
  );
}
