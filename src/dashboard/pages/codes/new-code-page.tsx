/** Creates a code: the destination first, more options on demand. */
import { useState } from 'preact/hooks';
import type { CodeType } from '../../../model/code.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { currentSession } from '../../client/session.ts';
import { useForm, type FormState } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { CheckField, SelectField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { useOpenCampaigns } from '../campaigns/open-campaigns.ts';
import { codeTypeOptions } from './code-types.ts';
import { completions, splitTags, useTags } from './tags.ts';
import { TargetFields } from './target-fields.tsx';

const emptyDraft = {
  target: '',
  name: '',
  slug: '',
  tags: '',
  expiresAt: '',
  scanLimit: '',
  'campaignIds.0': '',
};
type Draft = typeof emptyDraft;

function bodyOf(draft: Draft, type: CodeType, dynamic: boolean): unknown {
  const tags = splitTags(draft.tags);
  const campaignId = draft['campaignIds.0'];
  return {
    type,
    target: draft.target,
    dynamic,
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    ...(tags.length === 0 ? {} : { tags }),
    ...(!dynamic || draft.slug.trim() === '' ? {} : { slug: draft.slug.trim() }),
    ...(!dynamic || draft.expiresAt === ''
      ? {}
      : { expiresAt: new Date(draft.expiresAt).toISOString() }),
    ...(!dynamic || campaignId === '' ? {} : { campaignIds: [campaignId] }),
    ...(!dynamic || draft.scanLimit === '' ? {} : { scanLimit: Number(draft.scanLimit) }),
  };
}

export function NewCodePage() {
  const [type, setType] = useState<CodeType>('url');
  /** Arrow keys step through the types, so the focus must stay there. */
  const [isTyped, setTyped] = useState(false);
  const [isFixed, setFixed] = useState(false);
  const form = useForm(emptyDraft);
  const dynamic = type === 'url' && !isFixed;
  const create = async (): Promise<void> => {
    const body = bodyOf(form.texts, type, dynamic);
    const code = await call<QrCode>('POST', '/qr-codes', { body });
    invalidate('/qr-codes?', '/analytics', '/events', '/campaigns');
    storeAnswer(`/qr-codes/${code.id}`, code);
    const isLocal = dynamic && currentSession().shortLinks.local;
    say(
      isLocal
        ? 'Code created. Before you print it, see the notice above.'
        : 'Code created. It already works.',
    );
    navigate(pathTo('code', { id: code.id }));
  };
  return (
    <Page title="New code" back={{ href: pathTo('codes'), label: 'Codes' }}>
      <Form
        class="stack page-narrow"
        form={form}
        action="Create code"
        onSubmit={create}
        more={
          <ButtonLink tone="quiet" href={pathTo('codes')}>
            Cancel
          </ButtonLink>
        }
      >
        <Card>
          <div class="form">
            <SelectField
              label="Type"
              value={type}
              options={codeTypeOptions}
              onChange={(chosen) => {
                setTyped(true);
                setType(chosen);
              }}
            />
            <TargetFields
              key={type}
              type={type}
              onChange={form.field('target').onInput}
              fault={form.faultOf('target')}
              hasFocus={!isTyped}
            />
            {type === 'url' && (
              <CheckField
                label="Static code"
                hint="The print contains the address itself: you cannot change it later, and scans are not counted."
                checked={isFixed}
                onChange={setFixed}
              />
            )}
          </div>
        </Card>
        <MoreFields field={form.field} isDynamic={dynamic} />
      </Form>
    </Page>
  );
}

interface MoreProps {
  readonly field: FormState<Draft>['field'];
  readonly isDynamic: boolean;
}

function MoreFields({ field, isDynamic }: MoreProps) {
  const tags = useTags();
  return (
    <Card title="Options" lead="All optional. You can set them later.">
      <div class="form">
        <div class="form-row">
          <TextField
            label="Name"
            isOptional
            {...field('name')}
            hint="For your team; also used as the file name"
            lengthMax={120}
          />
          <TextField
            label="Tags"
            isOptional
            {...field('tags')}
            hint="Separate with commas"
            suggestions={completions(field('tags').value, tags)}
          />
        </div>
        {isDynamic && <CampaignField field={field} />}
        {isDynamic && (
          <div class="form-row">
            <TextField
              label="Short code"
              isOptional
              {...field('slug')}
              hint="Use 3 to 64 letters, digits, hyphens or underscores."
              lengthMax={64}
            />
            <TextField
              label="Expires at"
              isOptional
              type="datetime-local"
              {...field('expiresAt')}
              hint="In your time zone"
            />
            <TextField
              label="Scan limit"
              isOptional
              type="number"
              min={1}
              {...field('scanLimit')}
              hint="The code stops working after this many scans"
            />
          </div>
        )}
      </div>
    </Card>
  );
}

/** Empty without running or scheduled campaigns. */
function CampaignField({ field }: Pick<MoreProps, 'field'>) {
  const { data: campaigns = [], problem, reload } = useOpenCampaigns();
  if (problem !== undefined && campaigns.length === 0) {
    return <ProblemNotice problem={problem} onRetry={() => void reload()} />;
  }
  if (campaigns.length === 0) return null;
  const { value, onInput, fault } = field('campaignIds.0');
  const options = campaigns.map(({ id, name }) => ({ value: id, label: name }));
  return (
    <SelectField
      label="Campaign"
      isOptional
      value={value}
      options={[{ value: '', label: 'None' }, ...options]}
      onChange={onInput}
      fault={fault}
    />
  );
}
