/** Creates a campaign; the form also edits one. */
import { useState } from 'preact/hooks';
import { now } from '../../client/browser-clock.ts';
import { utcDay } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { useForm } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { CampaignWithCodes } from './campaign-labels.ts';
import { CodePicker } from './code-picker.tsx';

interface Texts extends Readonly<Record<string, string>> {
  readonly name: string;
  readonly startDate: string;
  readonly endDate: string;
}

interface Draft {
  readonly texts: Texts;
  readonly qrCodeIds: readonly string[];
}

interface FormProps {
  readonly start: Draft & { readonly qrCodes: CampaignWithCodes['qrCodes'] };
  readonly action: string;
  readonly onSave: (draft: Draft) => Promise<void>;
  readonly onCancel: () => void;
}

export function CampaignForm({ start, action, onSave, onCancel }: FormProps) {
  const [qrCodeIds, setQrCodeIds] = useState(start.qrCodeIds);
  const form = useForm(start.texts);
  return (
    <Form
      form={form}
      action={action}
      onSubmit={() => onSave({ texts: form.texts, qrCodeIds })}
      more={
        <Button tone="quiet" onClick={onCancel}>
          Cancel
        </Button>
      }
    >
      <TextField label="Name" {...form.field('name')} lengthMax={120} />
      <div class="form-row">
        <TextField label="First day" type="date" {...form.field('startDate')} hint="In UTC" />
        <TextField
          label="Last day"
          isOptional
          type="date"
          min={form.texts.startDate}
          {...form.field('endDate')}
          hint="Inclusive. Leave empty for no end."
        />
      </div>
      <CodePicker
        chosen={qrCodeIds}
        known={start.qrCodes}
        onChange={setQrCodeIds}
        fault={form.faultOf('qrCodeIds')}
      />
    </Form>
  );
}

/** The body of POST or PATCH. */
export const campaignBody = ({ texts: { name, startDate, endDate }, qrCodeIds }: Draft) => ({
  name: name.trim(),
  startDate,
  endDate: endDate === '' ? null : endDate,
  qrCodeIds,
});

export function NewCampaignPage() {
  const today = utcDay(now());
  const start = { texts: { name: '', startDate: today, endDate: '' }, qrCodeIds: [], qrCodes: [] };
  const save = async (draft: Draft): Promise<void> => {
    const campaign = await call<CampaignWithCodes>('POST', '/campaigns', {
      body: campaignBody(draft),
    });
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
