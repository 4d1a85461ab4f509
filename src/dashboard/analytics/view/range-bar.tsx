/**
 * The days, their time zone, and the days to compare with. All are in the address. The back button undoes a choice, but
 * not each typed day.
 */
import { pushQuery, setQuery } from '../../client/router.ts';
import { zoneOfWorkspace } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Tabs } from '../../parts/list.tsx';
import { isDay } from '../state/days.ts';
import { daysFrom, type Preset, presets } from '../state/ranges.ts';
import {
  compareChange,
  compareOptions,
  compareText,
  daysChange,
  rangeChange,
  workspaceZone,
} from '../state/view-state.ts';
import { rangeLabel, zoneLabel } from '../state/labels.ts';
import type { View } from './use-analytics.ts';

export function RangeBar({ view }: { readonly view: View }) {
  const { bounds, state } = view;
  const tabs = presets.filter(({ value }) => value !== 'all' || bounds.whole !== undefined);
  const choose = (preset: Preset): void => pushQuery(rangeChange(preset, state, bounds));
  return (
    <div class="range-bar">
      <div class="hide-narrow">
        <Tabs label="Range" value={state.preset} tabs={tabs} onChange={choose} />
      </div>
      <div class="range">
        <div class="show-narrow">
          <SelectField
            label="Range"
            isLabelHidden
            value={state.preset}
            options={tabs}
            onChange={choose}
          />
        </div>
        {state.preset === 'custom' && <CustomDays view={view} />}
        <span class="range-days" aria-live="polite">
          {rangeLabel(state.range)}
        </span>
        <Zone view={view} />
        <SelectField
          label="Compare"
          isLabelHidden
          value={state.compare}
          options={compareOptions}
          onChange={(compare) => pushQuery(compareChange(compare, state, bounds))}
        />
        {state.compare === 'custom' && <ComparedDays view={view} />}
      </div>
    </div>
  );
}

function CustomDays({ view: { state, bounds } }: { readonly view: View }) {
  const { range } = state;
  const set = (from: string, to: string): void => {
    if (isDay(from) && isDay(to) && from <= to) setQuery(daysChange({ from, to }, state));
  };
  return (
    <>
      <TextField
        label="From"
        isLabelHidden
        type="date"
        value={range.from}
        max={range.to}
        onInput={(from) => set(from, range.to)}
      />
      <TextField
        label="To"
        isLabelHidden
        type="date"
        value={range.to}
        min={range.from}
        max={bounds.today}
        onInput={(to) => set(range.from, to)}
      />
    </>
  );
}

function ComparedDays({ view: { state } }: { readonly view: View }) {
  const { comparedTo, range } = state;
  if (comparedTo === undefined) return null;
  const set = (from: string): void => {
    if (isDay(from)) setQuery({ compare: compareText(daysFrom(from, range)) });
  };
  return (
    <>
      <TextField
        label="Compare with the days from"
        isLabelHidden
        type="date"
        value={comparedTo.from}
        onInput={set}
      />
      <span class="soft">to {rangeLabel({ from: comparedTo.to, to: comparedTo.to })}</span>
    </>
  );
}

/** The zone of the days. If it was chosen for these days only, a button returns to the workspace's zone. */
function Zone({ view: { state, zone } }: { readonly view: View }) {
  const own = zoneOfWorkspace();
  return (
    <span class="range-zone">
      <Icon name="clock" size={16} />
      <span title={zone}>{zoneLabel(zone)}</span>
      {state.zone !== workspaceZone && own !== zone && (
        <Button size="small" tone="quiet" onClick={() => pushQuery({ zone: undefined })}>
          Show in {zoneLabel(own)}
        </Button>
      )}
    </span>
  );
}
