/** The workspace's time zone and first day of the week. */
import { addDays, dayIn } from '../../analytics/state/days.ts';
import { zoneLabel } from '../../analytics/state/labels.ts';
import { now } from '../../client/browser-clock.ts';
import { formatUtcDay } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { currentSession, may, noteWorkspace } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { Workspace } from '../../client/wire.ts';
import type { WeekStart } from '../../../model/zones/calendar.ts';
import { allZones, browserZone } from '../../client/zones.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Card } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';

const weekStarts: ReadonlyArray<{ readonly value: WeekStart; readonly label: string }> = [
  { value: 'mon', label: 'Monday' },
  { value: 'sun', label: 'Sunday' },
  { value: 'sat', label: 'Saturday' },
];

export function DaysCard() {
  const { workspace } = currentSession();
  const before = { timezone: workspace.timezone, weekStart: workspace.weekStart };
  const form = useForm<{ readonly timezone: string; readonly weekStart: string }>(before);
  const timezone = form.texts.timezone.trim();
  const { weekStart } = form.texts;
  const set = (change: Partial<typeof form.texts>): void =>
    form.setTexts({ ...form.texts, ...change });
  const isChanged = timezone !== before.timezone || weekStart !== before.weekStart;
  const save = async (): Promise<void> => {
    const body = { timezone, weekStart };
    const changed = await call<Workspace>('PATCH', `/workspaces/${workspace.id}`, { body });
    noteWorkspace({ timezone: changed.timezone, weekStart: changed.weekStart });
    invalidate('/analytics', '/campaigns', '/qr-codes', '/workspaces');
    say('Days and weeks changed.');
  };
  const own = browserZone();
  return (
    <Card title="Days and weeks" lead="Used in analytics, for everyone in this workspace.">
      <Form
        form={form}
        action={may('admin') && 'Save days and weeks'}
        disabled={!isChanged || timezone === ''}
        onSubmit={save}
      >
        <div class="form-row">
          <TextField
            label="Time zone"
            {...form.field('timezone')}
            suggestions={allZones()}
            isReadOnly={!may('admin')}
            hint={timezone === '' ? undefined : zoneHint(timezone)}
          />
          <SelectField
            label="Weeks begin on"
            value={weekStarts.find(({ value }) => value === weekStart)?.value ?? 'mon'}
            options={weekStarts}
            disabled={!may('admin')}
            onChange={(value) => set({ weekStart: value })}
          />
        </div>
        {may('admin') && own !== timezone && (
          <p>
            <Button size="small" icon="clock" onClick={() => set({ timezone: own })}>
              Use {zoneLabel(own)}, as this browser
            </Button>
          </p>
        )}
        <p class="field-hint">{whenText(timezone, before.timezone)}</p>
      </Form>
    </Card>
  );
}

const clockOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat(undefined, { timeStyle: 'short', timeZone });

/** The current time in the zone: the quickest way to check the choice. */
function zoneHint(zone: string): string {
  try {
    return `It is ${clockOf(zone).format(now())} there`;
  } catch {
    return 'The name of a zone, such as Europe/Berlin';
  }
}

/** A new zone applies from the next UTC day. */
function whenText(zone: string, before: string): string {
  if (zone === before && zone === 'UTC') {
    return 'Days begin at midnight in this time zone.';
  }
  if (zone === before) return `Days begin at midnight in ${zoneLabel(zone)}.`;
  const tomorrow = formatUtcDay(addDays(dayIn('UTC', now()), 1));
  return (
    `From ${tomorrow} (UTC), days follow ${zone === '' ? 'this zone' : zoneLabel(zone)}. Scans stay exact; ` +
    'countries, devices and scanners of earlier days come from single scans, while these are stored.'
  );
}
