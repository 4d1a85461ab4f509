/** The content of a code: fields by type, combined into the text of the QR code. */
import { useState } from 'preact/hooks';
import type { CodeType } from '../../../model/code.ts';
import { withScheme } from '../../client/format.ts';
import { AreaField, SelectField, TextField } from '../../parts/field.tsx';

interface TargetProps {
  readonly onChange: (target: string) => void;
  readonly fault: string | undefined;
  /** The first field takes the focus. */
  readonly hasFocus: boolean;
}

interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly placeholder?: string;
  readonly kind?: 'area' | 'password';
  readonly options?: readonly string[];
  readonly isOptional?: true;
}

interface TypeSpec {
  readonly fields: readonly FieldSpec[];
  readonly compose: (value: (name: string) => string) => string;
}

/** Wi-Fi escapes `\ ; , : "` in values with a backslash. */
const wifiText = (text: string): string => text.replace(/([\\;,:"])/g, '\\$1');
/** RFC 6350, 3.4. */
const vcardText = (text: string): string =>
  text.replace(/([\\;,])/g, '\\$1').replace(/\r?\n/g, '\\n');

const types: Readonly<Record<CodeType, TypeSpec>> = {
  url: {
    fields: [{ name: 'url', label: 'Web address', placeholder: 'https://example.com/menu' }],
    compose: (value) => withScheme(value('url')),
  },
  text: {
    fields: [{ name: 'text', label: 'Text', kind: 'area' }],
    compose: (value) => value('text'),
  },
  email: {
    fields: [
      { name: 'address', label: 'E-mail address', placeholder: 'name@example.com' },
      { name: 'subject', label: 'Subject', isOptional: true },
    ],
    compose: (value) => {
      const subject = value('subject');
      const query = subject === '' ? '' : `?subject=${encodeURIComponent(subject)}`;
      return `mailto:${value('address').trim()}${query}`;
    },
  },
  phone: {
    fields: [{ name: 'number', label: 'Phone number', placeholder: '+49 30 1234567' }],
    compose: (value) => `tel:${value('number').trim()}`,
  },
  sms: {
    fields: [
      { name: 'number', label: 'Phone number', placeholder: '+49 170 1234567' },
      { name: 'text', label: 'Message', kind: 'area', isOptional: true },
    ],
    compose: (value) => {
      const text = value('text').replace(/\s+/g, ' ').trim();
      return `SMSTO:${value('number').trim()}${text === '' ? '' : `:${text}`}`;
    },
  },
  wifi: {
    fields: [
      { name: 'name', label: 'Network name' },
      { name: 'password', label: 'Password', isOptional: true },
      { name: 'security', label: 'Security', options: ['WPA', 'SAE', 'WEP', 'nopass'] },
    ],
    compose: (value) => {
      const security = value('password') === '' ? 'nopass' : value('security') || 'WPA';
      const password = security === 'nopass' ? '' : `P:${wifiText(value('password'))};`;
      return `WIFI:T:${security};S:${wifiText(value('name'))};${password};`;
    },
  },
  vcard: {
    fields: [
      { name: 'name', label: 'Full name' },
      { name: 'organisation', label: 'Organization', isOptional: true },
      { name: 'phone', label: 'Phone', isOptional: true },
      { name: 'email', label: 'E-mail', isOptional: true },
      { name: 'url', label: 'Website', isOptional: true },
    ],
    compose: (value) => {
      const line = (key: string, name: string): string[] =>
        value(name) === '' ? [] : [`${key}:${vcardText(value(name))}`];
      return [
        'BEGIN:VCARD',
        'VERSION:3.0',
        ...line('FN', 'name'),
        ...(value('name') === '' ? [] : [`N:${vcardText(value('name'))};;;;`]),
        ...line('ORG', 'organisation'),
        ...line('TEL', 'phone'),
        ...line('EMAIL', 'email'),
        ...line('URL', 'url'),
        'END:VCARD',
      ].join('\r\n');
    },
  },
  geo: {
    fields: [
      { name: 'latitude', label: 'Latitude', placeholder: '52.5163' },
      { name: 'longitude', label: 'Longitude', placeholder: '13.3777' },
    ],
    compose: (value) => `geo:${value('latitude').trim()},${value('longitude').trim()}`,
  },
};

export function TargetFields(props: TargetProps & { readonly type: CodeType }) {
  const { type, onChange, fault, hasFocus } = props;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const { fields, compose } = types[type];
  const set = (name: string, text: string): void => {
    const next = { ...values, [name]: text };
    setValues(next);
    onChange(compose((field) => next[field] ?? ''));
  };
  return (
    <div class={fields.length > 1 ? 'form-row' : 'form'}>
      {fields.map((spec, index) => (
        <OneField
          key={spec.name}
          spec={spec}
          value={values[spec.name] ?? ''}
          onInput={(text) => set(spec.name, text)}
          fault={index === 0 ? fault : undefined}
          hasFocus={hasFocus && index === 0}
        />
      ))}
    </div>
  );
}

interface OneProps {
  readonly spec: FieldSpec;
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly fault: string | undefined;
  readonly hasFocus: boolean;
}

function OneField({ spec, value, onInput, fault, hasFocus }: OneProps) {
  const { label, placeholder = '', kind, options, isOptional = false } = spec;
  if (options !== undefined) {
    const choices = options.map((option) => ({ value: option, label: option }));
    return (
      <SelectField
        label={label}
        value={value === '' ? (options[0] ?? '') : value}
        options={choices}
        onChange={onInput}
      />
    );
  }
  if (kind === 'area') {
    return <AreaField {...{ label, value, onInput, fault, isOptional }} rows={3} />;
  }
  return <TextField {...{ label, value, onInput, fault, isOptional, placeholder, hasFocus }} />;
}
