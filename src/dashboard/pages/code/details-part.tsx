/** A code's other fields: name, tags, expiry, scan limit. */
import { useEffect } from 'preact/hooks';
import { localTime, utcTime } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { askBeforeLeaving } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import { useForm, type FormState } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { CopyButton } from '../../parts/copy.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Fact } from '../../parts/list.tsx';
import { Card } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { completions, splitTags, useTags } from '../codes/tags.ts';

interface Draft extends Readonly<Record<string, string>> {
  readonly name: string;
  readonly tags: string;
  readonly expiresAt: string;
  readonly scanLimit: string;
}

const draftOf = (code: QrCode): Draft => ({
  name: code.name ?? '',
  tags: code.tags.join(', '),
  expiresAt: localTime(code.expiresAt),
  scanLimit: code.scanLimit === null ? '' : String(code.scanLimit),
});

/** The body of the PATCH; a static code has no expiry and no scan limit. */
function changeOf(code: QrCode, { name, tags, expiresAt, scanLimit }: Draft): unknown {
  const isNewEnd = expiresAt !== localTime(code.expiresAt);
  const end = expiresAt === '' ? null : utcTime(expiresAt);
  return {
    name: name.trim() === '' ? null : name.trim(),
    tags: splitTags(tags),
    ...(code.dynamic && isNewEnd ? { expiresAt: end } : {}),
    ...(code.dynamic ? { scanLimit: scanLimit === '' ? null : Number(scanLimit) } : {}),
  };
}

export function DetailsPart({ code }: { readonly code: QrCode }) {
  const form = useForm(draftOf(code));
  const isChanged = JSON.stringify(form.texts) !== JSON.stringify(draftOf(code));
  useEffect(() => askBeforeLeaving(() => isChanged), [isChanged]);
  const save = async (): Promise<void> => {
    const body = changeOf(code, form.texts);
    const answer = await call<QrCode>('PATCH', `/qr-codes/${code.id}`, { body });
    storeAnswer(`/qr-codes/${code.id}`, answer);
    form.setTexts(draftOf(answer));
    invalidate('/qr-codes?', '/events');
    say('Changes saved.');
  };
  return (
    <div class="grid-2">
      <Card title="Details">
        <Form
          form={form}
          action={may('editor') && 'Save changes'}
          disabled={!isChanged}
          onSubmit={save}
        >
          <Fields form={form} isDynamic={code.dynamic} />
        </Form>
      </Card>
      <Identity code={code} />
    </div>
  );
}

interface FieldsProps {
  readonly form: FormState<Draft>;
  readonly isDynamic: boolean;
}

function Fields({ form, isDynamic }: FieldsProps) {
  const field = (name: keyof Draft & string) => ({
    ...form.field(name),
    isReadOnly: !may('editor'),
  });
  const tags = useTags();
  return (
    <>
      <TextField label="Name" isOptional lengthMax={120} {...field('name')} />
      <TextField
        label="Tags"
        isOptional
        hint="Separate with commas"
        {...field('tags')}
        suggestions={completions(field('tags').value, tags)}
      />
      {isDynamic && (
        <div class="form-row">
          <TextField
            label="Expires at"
            isOptional
            type="datetime-local"
            hint="In your time zone"
            {...field('expiresAt')}
          />
          <TextField
            label="Scan limit"
            isOptional
            type="number"
            min={1}
            hint="The code stops working after this many scans"
            {...field('scanLimit')}
          />
        </div>
      )}
    </>
  );
}

function Identity({ code }: { readonly code: QrCode }) {
  const metadata = Object.keys(code.metadata).length > 0;
  return (
    <Card title="For developers">
      <dl class="facts">
        <Fact label="ID">
          <span class="code-address">
            <code>{code.id}</code>
            <CopyButton text={code.id} label="Copy the ID" />
          </span>
        </Fact>
        {code.slug !== null && (
          <Fact label="Short code">
            <code>{code.slug}</code>
          </Fact>
        )}
        {code.externalId !== null && (
          <Fact label="External ID">
            <code>{code.externalId}</code>
          </Fact>
        )}
        <Fact label="Image">
          <span class="code-address">
            <a href={code.imageUrl} target="_blank" rel="noreferrer">
              Open the image
            </a>
            <CopyButton text={code.imageUrl} label="Copy the image address" />
          </span>
        </Fact>
        {metadata && (
          <Fact label="Metadata">
            <code>{JSON.stringify(code.metadata)}</code>
          </Fact>
        )}
      </dl>
    </Card>
  );
}
