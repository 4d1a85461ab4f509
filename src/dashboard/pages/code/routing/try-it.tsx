/** Asks the service for the outcome of a scan under the saved rules. */
import { useEffect, useState } from 'preact/hooks';
import { unknownCountry } from '../../../../model/scan.ts';
import { localTime, shortAddress, utcTime } from '../../../client/format.ts';
import { now } from '../../../client/browser-clock.ts';
import { call } from '../../../client/http.ts';
import { useForm } from '../../../client/use-form.ts';
import type { QrCode, ResolvedRoute } from '../../../client/wire.ts';
import { SelectField, TextField } from '../../../parts/field.tsx';
import { Form } from '../../../parts/form.tsx';
import { Card } from '../../../parts/page.tsx';
import { browserChoices, countryChoices, languageChoices } from './route-choices.ts';
import { sentenceOf } from './sentence.ts';
import { wholePercents } from './shares.ts';

/** Devices with their most common system and browser. */
const scanners = {
  iphone: { label: 'iPhone', device: 'mobile', os: 'iOS', browser: 'Safari' },
  android: { label: 'Android phone', device: 'mobile', os: 'Android', browser: 'Chrome' },
  ipad: { label: 'iPad', device: 'tablet', os: 'iOS', browser: 'Safari' },
  tablet: { label: 'Android tablet', device: 'tablet', os: 'Android', browser: 'Chrome' },
  windows: { label: 'Windows computer', device: 'desktop', os: 'Windows', browser: 'Edge' },
  mac: { label: 'Mac', device: 'desktop', os: 'macOS', browser: 'Safari' },
} as const;
type Scanner = keyof typeof scanners;

const isScanner = (text: string): text is Scanner => Object.hasOwn(scanners, text);
const scannerChoices = Object.keys(scanners)
  .filter(isScanner)
  .map((value) => ({ value, label: scanners[value].label }));

/** Language of this browser. */
const ownLocale = localeOf(navigator.language);

interface TryProps {
  readonly code: QrCode;
  /** The page has unsaved changes. */
  readonly isChanged: boolean;
}

const start = {
  country: ownLocale.region ?? unknownCountry,
  language: ownLocale.language,
  at: '',
  browser: '',
  query: '',
};

export function TryIt({ code, isChanged }: TryProps) {
  const [scanner, setScanner] = useState<Scanner>('iphone');
  const form = useForm(start);
  const [found, setFound] = useState<ResolvedRoute>();
  // The outcome belongs to the previous rules.
  useEffect(() => setFound(undefined), [code.updatedAt]);
  const { texts, setTexts } = form;
  const set = (change: Partial<typeof start>): void => setTexts({ ...texts, ...change });
  const ask = async (): Promise<void> => {
    setFound(undefined);
    setFound(await call<ResolvedRoute>('GET', pathOf(code, scanner, texts)));
  };
  const asksFor = (kind: 'browser' | 'query'): boolean =>
    code.rules.some((rule) => rule.if[kind] !== undefined);
  return (
    <Card title="Try it" lead="See where a scan would lead. It is not counted." class="try-it">
      <Form form={form} action="Try it" onSubmit={ask}>
        <div class="try-fields">
          <SelectField
            label="Device"
            value={scanner}
            options={scannerChoices}
            onChange={setScanner}
          />
          <SelectField
            label="Country"
            value={texts.country}
            options={countryChoices()}
            onChange={(country) => set({ country })}
          />
          <LanguageField value={texts.language} onChange={(language) => set({ language })} />
          <TextField
            label="Time"
            type="datetime-local"
            hint={texts.at === '' ? 'Now' : 'In your time zone'}
            {...form.field('at')}
            placeholder={localTime(new Date(now()).toISOString())}
          />
          {asksFor('browser') && (
            <SelectField
              label="Browser"
              value={texts.browser}
              options={[{ value: '', label: 'Default browser' }, ...browserChoices]}
              onChange={(browser) => set({ browser })}
            />
          )}
          {(asksFor('query') || code.passQuery) && (
            <TextField
              label="Parameters of the short link"
              placeholder="table=5"
              {...form.field('query')}
            />
          )}
        </div>
        {isChanged && <p class="field-hint">Save first to try your changes.</p>}
      </Form>
      <div aria-live="polite">{found && <Found code={code} found={found} />}</div>
    </Card>
  );
}

interface LanguageProps {
  readonly value: string;
  readonly onChange: (language: string) => void;
}

function LanguageField({ value, onChange }: LanguageProps) {
  const choices = languageChoices();
  const isListed = choices.some((choice) => choice.value === value);
  const options = isListed ? choices : [...choices, { value, label: value }];
  return <SelectField label="Language" value={value} options={options} onChange={onChange} />;
}

function pathOf(code: QrCode, scanner: Scanner, texts: typeof start): string {
  const { device, os, browser } = scanners[scanner];
  const query = new URLSearchParams({
    device,
    os,
    browser: texts.browser === '' ? browser : texts.browser,
    country: texts.country,
    language: texts.language,
  });
  if (texts.at !== '') query.set('at', utcTime(texts.at));
  const own = texts.query.trim().replace(/^\?/, '');
  if (own !== '') query.set('query', own);
  return `/qr-codes/${code.id}/resolve?${query}`;
}

interface FoundProps {
  readonly code: QrCode;
  readonly found: ResolvedRoute;
}

function Found({ code, found }: FoundProps) {
  const { location, variants } = found;
  const percents = wholePercents((variants ?? []).map(({ share }) => share));
  return (
    <div class="found">
      {variants !== undefined && (
        <ul>
          {variants.map((variant, at) => (
            <li key={variant.label}>
              <span class="number">{percents[at]} %</span> <Address url={variant.location} />
            </li>
          ))}
        </ul>
      )}
      {variants === undefined && location !== null && (
        <p class="found-address">
          <span aria-hidden="true">→ </span>
          <Address url={location} />
        </p>
      )}
      {location === null && (
        <p class="found-address">A page that explains why the code does not work</p>
      )}
      <p class="soft">{reasonText(code, found)}</p>
    </div>
  );
}

function Address({ url }: { readonly url: string }) {
  return (
    <a class="break" href={url} target="_blank" rel="noreferrer">
      {shortAddress(url)}
    </a>
  );
}

const missedTexts = {
  paused: 'The code is paused.',
  not_started: 'The code has not started at that time.',
  expired: 'The code has expired at that time.',
  used_up: 'The code has reached its scan limit.',
} as const;

function reasonText({ rules }: QrCode, { reason, label }: ResolvedRoute): string {
  if (reason === 'target') return rules.length === 0 ? 'The destination.' : 'No rule matches.';
  if (reason !== 'rule' && reason !== 'split') return missedTexts[reason];
  const at = rules.findIndex(
    (rule) =>
      rule.label === label ||
      ('split' in rule.then && rule.then.split.some((variant) => variant.label === label)),
  );
  const rule = rules[at];
  if (rule === undefined) return rules.length === 0 ? 'By weight.' : 'No rule matches: by weight.';
  return `Rule ${at + 1}: ${sentenceOf(rule.if)}.`;
}

/** Some browsers name no language that Intl knows, such as `en-US@posix`. */
function localeOf(language: string): Intl.Locale {
  try {
    return new Intl.Locale(language).maximize();
  } catch {
    return new Intl.Locale('en').maximize();
  }
}
