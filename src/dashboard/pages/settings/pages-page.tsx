/** The pages of inactive codes: brand, texts by reason and language, and a preview. */
import { useEffect, useState } from 'preact/hooks';
import {
  brandNameLengthMax,
  type EndedReason,
  pageTextLengthMax,
  pageTitleLengthMax,
  supportUrlLengthMax,
} from '../../../model/routing/pages.ts';
import { call } from '../../client/http.ts';
import { storeAnswer, useResource } from '../../client/resource.ts';
import { askBeforeLeaving } from '../../client/router.ts';
import { currentSession, may } from '../../client/session.ts';
import { type FormState, useForm } from '../../client/use-form.ts';
import type { WorkspaceDetails } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { AreaField, ColorField, SelectField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { LogoInput } from '../code/logo-input.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { type PageDraft, draftOf, patchOf, textOf, withBrand, withText } from './page-draft.ts';
import { PagePreview } from './page-preview.tsx';

const reasons: ReadonlyArray<{ readonly value: EndedReason; readonly label: string }> = [
  { value: 'expired', label: 'Expired' },
  { value: 'used_up', label: 'Used up' },
  { value: 'paused', label: 'Paused' },
  { value: 'not_started', label: 'Not started' },
  { value: 'deleted', label: 'Deleted' },
];
/** The first color in the picker. */
const firstColor = '#0f6b5c';

export function PagesPage() {
  const path = `/workspaces/${currentSession().workspace.id}`;
  const workspace = useResource<WorkspaceDetails>(path);
  return (
    <Page title="Pages" lead="Shown when someone scans a code that does not work now.">
      <Ready of={workspace} skeleton={<Skeleton height={420} />}>
        {(data) => <PagesForm saved={draftOf(data)} path={path} />}
      </Ready>
    </Page>
  );
}

interface FormProps {
  readonly saved: PageDraft;
  readonly path: string;
}

function PagesForm({ saved, path }: FormProps) {
  const [draft, setDraft] = useState(saved);
  const [reason, setReason] = useState<EndedReason>('expired');
  const [language, setLanguage] = useState('en');
  const form = useForm({});
  const patch = patchOf(saved, draft);
  const isChanged = Object.keys(patch).length > 0;
  useEffect(() => askBeforeLeaving(() => isChanged), [isChanged]);
  const save = async (): Promise<void> => {
    const answer = await call<WorkspaceDetails>('PATCH', path, { body: patch });
    storeAnswer(path, answer);
    setDraft(draftOf(answer));
    say('Pages saved.');
  };
  const at = { draft, form, onChange: setDraft };
  return (
    <div class="pages-editor">
      <Form
        form={form}
        action={may('admin') && 'Save pages'}
        disabled={!isChanged}
        onSubmit={save}
        more={
          <Button disabled={!isChanged} onClick={() => setDraft(saved)}>
            Discard changes
          </Button>
        }
      >
        <fieldset class="bare stack" disabled={!may('admin')}>
          <BrandCard {...at} />
          <TextsCard {...at} {...{ reason, language, setReason, setLanguage }} />
        </fieldset>
      </Form>
      {may('admin') && <PagePreview reason={reason} language={language} patch={patch} />}
    </div>
  );
}

interface CardProps {
  readonly draft: PageDraft;
  readonly form: FormState<Record<string, string>>;
  readonly onChange: (draft: PageDraft) => void;
}

function BrandCard({ draft, form, onChange }: CardProps) {
  const { name = '', supportUrl = '', colour, logo } = draft.brand;
  const set = (change: Parameters<typeof withBrand>[1]): void => onChange(withBrand(draft, change));
  return (
    <Card
      title="Brand"
      lead="Your name and logo on these pages. Without a logo, the name is shown."
    >
      <div class="form">
        <TextField
          label="Name"
          isOptional
          value={name}
          fault={form.faultOf('brand.name')}
          lengthMax={brandNameLengthMax}
          onInput={(text) => set({ name: text })}
        />
        <TextField
          label="Contact"
          isOptional
          placeholder="mailto:hello@example.com"
          hint="A link for questions: https:, mailto: or tel:"
          value={supportUrl}
          fault={form.faultOf('brand.supportUrl')}
          lengthMax={supportUrlLengthMax}
          onInput={(text) => set({ supportUrl: text.trim() })}
        />
        <div class="form-row">
          {colour === undefined ? (
            <div class="field">
              <p class="field-label">
                Color <span class="field-optional">optional</span>
              </p>
              <Button onClick={() => set({ colour: firstColor })}>Choose a color</Button>
            </div>
          ) : (
            <div class="field">
              <ColorField
                label="Color"
                value={colour}
                onChange={(value) => set({ colour: value })}
              />
              <p class="field-hint">Adjusted automatically if it is hard to read</p>
              <Button size="small" icon="trash" onClick={() => set({ colour: '' })}>
                Remove color
              </Button>
            </div>
          )}
          <div class="field">
            <LogoInput fault={form.faultOf('brand.logo')} onTake={(file) => set({ logo: file })} />
            {logo !== undefined && (
              <Button size="small" icon="trash" onClick={() => set({ logo: '' })}>
                Remove logo
              </Button>
            )}
          </div>
        </div>
      </div>
    </Card>
  );
}

/** Languages to choose from; the API accepts any other too. */
const offered =
  'en de fr es it pt nl pl tr ja ar bg ca cs da el fi he hr hu id ko nb pt-BR ro ru sk sl sv th uk vi zh-Hans zh-Hant';

const languageNames = new Intl.DisplayNames('en', { type: 'language' });

/** @param own languages with a custom text, which are marked */
function languageOptions(own: readonly string[]) {
  const all = [...new Set([...offered.split(' '), ...own])];
  return all.map((value) => {
    const name = languageNames.of(value) ?? value;
    return { value, label: own.includes(value) ? `${name} · your text` : name };
  });
}

interface TextsProps extends CardProps {
  readonly reason: EndedReason;
  readonly language: string;
  readonly setReason: (reason: EndedReason) => void;
  readonly setLanguage: (language: string) => void;
}

function TextsCard({
  draft,
  form,
  onChange,
  reason,
  language,
  setReason,
  setLanguage,
}: TextsProps) {
  const text = textOf(draft, reason, language);
  const set = (change: Partial<typeof text>): void =>
    onChange(withText(draft, reason, language, { ...text, ...change }));
  const path = `pages.${reason}.${language}`;
  const own = draft.texts[reason] ?? {};
  return (
    <Card
      title="Texts"
      lead="Each phone gets its language. Leave a field empty for our text, in ten languages."
    >
      <div class="form">
        <div class="form-row">
          <SelectField label="The code is" value={reason} options={reasons} onChange={setReason} />
          <SelectField
            label="Language"
            value={language}
            options={languageOptions(Object.keys(own))}
            onChange={setLanguage}
          />
        </div>
        <TextField
          label="Heading"
          value={text.title}
          fault={form.faultOf(`${path}.title`)}
          lengthMax={pageTitleLengthMax}
          onInput={(title) => set({ title })}
        />
        <AreaField
          label="Text"
          rows={3}
          hint={`One paragraph, at most ${pageTextLengthMax} characters`}
          value={text.text}
          fault={form.faultOf(`${path}.text`)}
          onInput={(written) => set({ text: written.replace(/\s*\n\s*/g, ' ') })}
        />
      </div>
    </Card>
  );
}
