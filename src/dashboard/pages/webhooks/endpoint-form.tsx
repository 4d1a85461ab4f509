/** The form for an endpoint's address and events. */
import { useState } from 'preact/hooks';
import { type EventKind, eventKinds } from '../../../model/event.ts';
import { useSubmission } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { CheckField, TextField } from '../../parts/field.tsx';
import { eventLabels } from '../../parts/event-text.tsx';
import { Form } from '../../parts/form.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
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
const shownPaths = ['url', 'description', 'maxBatch', 'events'];

export function EndpointForm({ start, action, onSave, onCancel }: FormProps) {
  const [url, setUrl] = useState(start?.url ?? '');
  const [description, setDescription] = useState(start?.description ?? '');
  const [maxBatch, setMaxBatch] = useState(String(start?.maxBatch ?? batchMax));
  const [events, setEvents] = useState<Endpoint['events']>(start?.events ?? ['*']);
  const form = useSubmission();
  const save = async (): Promise<void> => {
    const more = description.trim() === '' ? {} : { description: description.trim() };
    await onSave({ url: url.trim(), events, maxBatch: Number(maxBatch), ...more });
  };
  const problem = form.otherProblem(shownPaths);
  return (
    <Form class="dialog-form" onSubmit={() => form.submit(save)}>
      <TextField
        label="Endpoint address"
        type="url"
        value={url}
        onInput={setUrl}
        fault={form.faultOf('url')}
        placeholder="https://example.com/hooks/qr"
        hasFocus
      />
      <EventChoice events={events} onChange={setEvents} fault={form.faultOf('events')} />
      <div class="form-row">
        <TextField
          label="Description"
          isOptional
          value={description}
          onInput={setDescription}
          fault={form.faultOf('description')}
        />
        <TextField
          label="Batch size"
          type="number"
          min={1}
          max={batchMax}
          value={maxBatch}
          onInput={setMaxBatch}
          fault={form.faultOf('maxBatch')}
          hint="Scans per request, 1 to 100"
        />
      </div>
      {problem && <ProblemNotice problem={problem} />}
      <footer class="dialog-foot">
        <Button onClick={onCancel}>Cancel</Button>
        <Button type="submit" tone="accent" isBusy={form.isBusy} disabled={events.length === 0}>
          {action}
        </Button>
      </footer>
    </Form>
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
