/** The fields of one condition of a rule. */
import {
  queryNameLengthMax,
  queryPairsMax,
  queryValueLengthMax,
} from '../../../../model/routing/routing.ts';
import { weekdays } from '../../../../model/day.ts';
import { localTime, utcTime, countryName } from '../../../client/format.ts';
import { allZones, browserZone } from '../../../client/zones.ts';
import { Button } from '../../../parts/button.tsx';
import { TextField } from '../../../parts/field.tsx';
import { PickField, SearchPickField } from './pick-field.tsx';
import type { ConditionsDraft, DateDraft, PairDraft, TimeDraft } from './route-draft.ts';
import {
  browserChoices,
  type ConditionKind,
  countryChoices,
  dayChoices,
  deviceChoices,
  languageChoices,
  languageName,
  osChoices,
  typedLanguage,
} from './route-choices.ts';

/** The first value of an added condition. */
export function emptyCondition(kind: ConditionKind): ConditionsDraft {
  if (kind === 'time') {
    return { time: { days: weekdays, from: '', to: '', timezone: browserZone() } };
  }
  if (kind === 'date') return { date: { from: '', to: '' } };
  if (kind === 'query') return { query: [{ name: '', value: '' }] };
  return { [kind]: [] };
}

interface ConditionProps {
  readonly kind: ConditionKind;
  readonly conditions: ConditionsDraft;
  /** @param change the new value of this condition */
  readonly onChange: (change: ConditionsDraft) => void;
  /** Error of a field of the condition; empty = of the condition. */
  readonly faultOf: (field: string) => string | undefined;
}

export function ConditionFields({ kind, conditions, onChange, faultOf }: ConditionProps) {
  const { device, os, browser, country, language, time, date, query } = conditions;
  const fault = faultOf('');
  if (kind === 'device' && device !== undefined) {
    const props = { legend: 'Devices', choices: deviceChoices, chosen: device, fault };
    return <PickField {...props} onChange={(chosen) => onChange({ device: chosen })} />;
  }
  if (kind === 'os' && os !== undefined) {
    const props = { legend: 'Systems', choices: osChoices, chosen: os, fault };
    return <PickField {...props} onChange={(chosen) => onChange({ os: chosen })} />;
  }
  if (kind === 'browser' && browser !== undefined) {
    return (
      <SearchPickField
        legend="Browsers"
        placeholder="Search browsers"
        choices={browserChoices}
        nameOf={(value) => value}
        chosen={browser}
        onChange={(chosen) => onChange({ browser: chosen })}
        fault={fault}
      />
    );
  }
  if (kind === 'country' && country !== undefined) {
    return (
      <SearchPickField
        legend="Countries"
        placeholder="Search countries"
        choices={countryChoices()}
        nameOf={countryName}
        chosen={country}
        onChange={(chosen) => onChange({ country: chosen })}
        fault={fault}
      />
    );
  }
  if (kind === 'language' && language !== undefined) {
    return (
      <SearchPickField
        legend="Languages"
        placeholder="Search languages"
        choices={languageChoices()}
        nameOf={languageName}
        typed={typedLanguage}
        chosen={language}
        onChange={(chosen) => onChange({ language: chosen })}
        fault={fault}
      />
    );
  }
  if (time !== undefined && kind === 'time') {
    return (
      <TimeFields time={time} onChange={(next) => onChange({ time: next })} faultOf={faultOf} />
    );
  }
  if (date !== undefined && kind === 'date') {
    return (
      <DateFields date={date} onChange={(next) => onChange({ date: next })} faultOf={faultOf} />
    );
  }
  return (
    <QueryFields
      pairs={query ?? []}
      onChange={(next) => onChange({ query: next })}
      faultOf={faultOf}
    />
  );
}

interface PartProps {
  readonly faultOf: ConditionProps['faultOf'];
}

interface TimeProps extends PartProps {
  readonly time: TimeDraft;
  readonly onChange: (time: TimeDraft) => void;
}

function TimeFields({ time, onChange, faultOf }: TimeProps) {
  const { days, from, to, timezone } = time;
  return (
    <div class="form">
      <PickField
        legend="Days"
        choices={dayChoices}
        chosen={days}
        onChange={(chosen) => onChange({ ...time, days: chosen })}
        fault={faultOf('days')}
      />
      <div class="form-row">
        <TextField
          label="From"
          type="time"
          value={from}
          onInput={(text) => onChange({ ...time, from: text })}
          fault={faultOf('from') ?? faultOf('')}
        />
        <TextField
          label="Until"
          type="time"
          value={to}
          onInput={(text) => onChange({ ...time, to: text })}
          hint={from !== '' && to !== '' && from > to ? 'On the next day' : undefined}
          fault={faultOf('to')}
        />
        <TextField
          label="Time zone"
          value={timezone}
          onInput={(text) => onChange({ ...time, timezone: text.trim() })}
          suggestions={allZones()}
          fault={faultOf('timezone')}
        />
      </div>
    </div>
  );
}

interface DateProps extends PartProps {
  readonly date: DateDraft;
  readonly onChange: (date: DateDraft) => void;
}

function DateFields({ date, onChange, faultOf }: DateProps) {
  return (
    <div class="form-row">
      <TextField
        label="From"
        type="datetime-local"
        hint="In your time zone"
        value={localTime(date.from)}
        onInput={(text) => onChange({ ...date, from: utcTime(text) })}
        fault={faultOf('from') ?? faultOf('')}
      />
      <TextField
        label="Until"
        type="datetime-local"
        hint="In your time zone"
        value={localTime(date.to)}
        onInput={(text) => onChange({ ...date, to: utcTime(text) })}
        fault={faultOf('to')}
      />
    </div>
  );
}

interface QueryProps extends PartProps {
  readonly pairs: readonly PairDraft[];
  readonly onChange: (pairs: readonly PairDraft[]) => void;
}

/** Parameters of the short link, as in `…/abc?table=5`. */
function QueryFields({ pairs, onChange, faultOf }: QueryProps) {
  const set = (at: number, change: Partial<PairDraft>): void =>
    onChange(pairs.map((pair, index) => (index === at ? { ...pair, ...change } : pair)));
  return (
    <div class="form">
      <p class="field-hint">
        Print the short link with a parameter, as <code>?table=5</code>, to tell prints apart.
      </p>
      {pairs.map(({ name, value }, at) => (
        <div key={at} class="pair-row">
          <TextField
            label="Parameter"
            placeholder="table"
            lengthMax={queryNameLengthMax}
            value={name}
            onInput={(text) => set(at, { name: text })}
            fault={faultOf(name) ?? (at === 0 ? faultOf('') : undefined)}
          />
          <TextField
            label="Value"
            placeholder="Any value"
            lengthMax={queryValueLengthMax}
            value={value === '*' ? '' : value}
            onInput={(text) => set(at, { value: text })}
          />
          <Button
            tone="quiet"
            icon="close"
            label={`Remove parameter ${name}`}
            disabled={pairs.length === 1}
            onClick={() => onChange(pairs.filter((_, index) => index !== at))}
          />
        </div>
      ))}
      {pairs.length < queryPairsMax && (
        <p>
          <Button
            size="small"
            icon="plus"
            onClick={() => onChange([...pairs, { name: '', value: '' }])}
          >
            Another parameter
          </Button>
        </p>
      )}
    </div>
  );
}
