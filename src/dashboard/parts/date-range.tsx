/** A range of UTC days in the address: presets by name, others by first and last day. */
import { now } from '../client/browser-clock.ts';
import { formatUtcDay, utcDay } from '../client/format.ts';
import { currentQuery, setQuery } from '../client/router.ts';
import { Tabs } from './list.tsx';
import { TextField } from './field.tsx';

export interface DayRange {
  readonly from: string;
  readonly to: string;
}

const presets = [
  { value: '1', label: 'Today' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '12 months' },
  { value: 'own', label: 'Custom' },
] as const;
type Preset = (typeof presets)[number]['value'];

const standard = '30';
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

/** The range in the address; by default 30 days up to today. */
export function useRange(): { readonly preset: Preset; readonly range: DayRange } {
  const query = currentQuery.value;
  const [from, to] = [query.get('from') ?? '', query.get('to') ?? ''];
  if (dayPattern.test(from) && dayPattern.test(to) && from <= to) {
    return { preset: 'own', range: { from, to } };
  }
  const preset = presets.find(({ value }) => value === query.get('days'))?.value ?? standard;
  return { preset, range: rangeOf(preset === 'own' ? standard : preset) };
}

function rangeOf(preset: Exclude<Preset, 'own'>): DayRange {
  const today = now();
  return { from: utcDay(today, 1 - Number(preset)), to: utcDay(today) };
}

export const rangeQuery = ({ from, to }: DayRange): string => `from=${from}&to=${to}`;

/** Days of a range, first and last included. */
const daysIn = ({ from, to }: DayRange): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000) + 1;

/** Up to this many days the chart shows hours. */
const hourDaysMax = 3;
export const intervalOf = (range: DayRange): 'hour' | 'day' =>
  daysIn(range) <= hourDaysMax ? 'hour' : 'day';

export function RangePicker() {
  const { preset, range } = useRange();
  const choose = (chosen: Preset): void => {
    if (chosen === 'own') setQuery({ ...range, days: undefined });
    else
      setQuery({ days: chosen === standard ? undefined : chosen, from: undefined, to: undefined });
  };
  const today = utcDay(now());
  return (
    <div class="range">
      <Tabs label="Range" value={preset} tabs={presets} onChange={choose} />
      {preset === 'own' && (
        <>
          <TextField
            label="From"
            isLabelHidden
            type="date"
            value={range.from}
            max={range.to}
            onInput={(from) => from !== '' && setQuery({ from, to: range.to })}
          />
          <span aria-hidden="true">–</span>
          <TextField
            label="To"
            isLabelHidden
            type="date"
            value={range.to}
            min={range.from}
            max={today}
            onInput={(to) => to !== '' && setQuery({ from: range.from, to })}
          />
        </>
      )}
      <span class="unseen" aria-live="polite">
        {formatUtcDay(range.from)} to {formatUtcDay(range.to)}
      </span>
    </div>
  );
}
