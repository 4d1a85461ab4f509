/** The form for an endpoint's address and events. */
import { DialogForm } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import { type EventKind, eventKinds } from '../../../model/event.ts';
import { useForm } from '../../client/use-form.ts';
import { CheckField, TextField } from '../../parts/field.tsx';
import { eventLabels } from '../../parts/event-text.tsx';
import type { Endpoint } from './webhook-labels.ts';

interface EndpointBody {
  readonly url: string;
  readonly events: Endpoint['events'];
  readonly maxBatch: number;
  readonly description?: string;
}

interface FormProps {
  readonly start?: Endpoint;
  readonly action: string;
  readonly onSave: (body: EndpointBody) => Promise<void>;
  readonly onCancel: () => void;
}

const batchMax = 100;

export function EndpointForm({ start, action, onSave, onCancel }: FormProps) {
  const [events, setEvents] = useState<Endpoint['events']>(start?.events ?? ['*']);
  const form = useForm({
    url: start?.url ?? '',
    description: start?.description ?? '',
    maxBatch: String(start?.maxBatch ?? batchMax),
  });
  const save = async (): Promise<void> => {
    const { url, maxBatch } = form.texts;
    const description = form.texts.description.trim();
    const more = description === '' ? {} : { description };
    await onSave({ url: url.trim(), events, maxBatch: Number(maxBatch), ...more });
  };
  return (
    <DialogForm
      form={form}
      action={action}
      disabled={events.length === 0}
      onSubmit={save}
      onClose={onCancel}
    >
      <TextField
        label="Endpoint address"
        type="url"
        {...form.field('url')}
        placeholder="https://example.com/hooks/qr"
        hasFocus
      />
      <EventChoice events={events} onChange={setEvents} fault={form.faultOf('events')} />
      <div class="form-row">
        <TextField label="Description" isOptional {...form.field('description')} />
        <TextField
          label="Batch size"
          type="number"
          min={1}
          max={batchMax}
          {...form.field('maxBatch')}
          hint="Scans per request, 1 to 100"
        />
      </div>
    </DialogForm>
  );
}

interface ChoiceProps {
  readonly events: Endpoint['events'];
  readonly onChange: (events: Endpoint['events']) => void;
  readonly fault: string | undefined;
}

function EventChoice({ events, onChange, fault }: ChoiceProps) {
  const isAll = events.includes('*');
  const toggle = (kind: EventKind, isChosen: boolean): void =>
    onChange(isChosen ? [...events, kind] : events.filter((other) => other !== kind));
  return (
    <fieldset class="bare">
      <legend class="field-label">Events</legend>
      <CheckField
        label="All events, including future kinds"
        checked={isAll}
        onChange={(checked) => onChange(checked ? ['*'] : ['qr.scanned'])}
      />
      {!isAll && (
        <div class="events">
          {eventKinds.map((kind) => (
            <CheckField
              key={kind}
              label={kind}
              hint={eventLabels[kind]}
              checked={events.includes(kind)}
              onChange={(checked) => toggle(kind, checked)}
            />
          ))}
        </div>
      )}
      {fault !== undefined && <p class="field-fault">{fault}</p>}
    </fieldset>
  );
}
