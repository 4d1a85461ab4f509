/** Options of all rules: start, fallback, and parameters. */
import { useState } from 'preact/hooks';
import { utmLengthMax } from '../../../../model/routing/routing.ts';
import { localTime, utcTime } from '../../../client/format.ts';
import { may } from '../../../client/session.ts';
import { CheckField, TextField } from '../../../parts/field.tsx';
import { Card } from '../../../parts/page.tsx';
import { utmChoices } from './route-choices.ts';
import type { RoutingForm } from './use-routing.ts';

export function OptionsCards({ form }: { readonly form: RoutingForm }) {
  return (
    <>
      <TimesCard form={form} />
      <ParametersCard form={form} />
    </>
  );
}

function TimesCard({ form }: { readonly form: RoutingForm }) {
  const { draft, change, faults } = form;
  const isReadOnly = !may('editor');
  return (
    <Card title="Start and fallback">
      <div class="form-row">
        <TextField
          label="Starts at"
          isOptional
          type="datetime-local"
          hint="In your time zone. Earlier scans see that the code has not started."
          value={localTime(draft.startsAt)}
          onInput={(text) => change({ startsAt: utcTime(text) })}
          fault={faults.under('startsAt')}
          isReadOnly={isReadOnly}
        />
        <TextField
          label="Fallback"
          isOptional
          type="url"
          placeholder="https://example.com/closed"
          hint="Scans go here while the code is paused, not started, expired or used up. Leave empty for a short notice."
          value={draft.fallbackUrl}
          onInput={(fallbackUrl) => change({ fallbackUrl })}
          fault={faults.under('fallbackUrl')}
          isReadOnly={isReadOnly}
        />
      </div>
    </Card>
  );
}

function ParametersCard({ form }: { readonly form: RoutingForm }) {
  const { draft, change, faults } = form;
  const { utm, passQuery } = draft;
  const passFault = faults.under('passQuery');
  const isFaulty = passFault !== undefined || faults.under('utm') !== undefined;
  const [isSet] = useState(passQuery || utmChoices.some(({ value }) => utm[value] !== ''));
  return (
    <details class="card options" open={isSet || isFaulty}>
      <summary>
        <h2>Parameters</h2>
      </summary>
      <div class="form">
        <p class="card-lead">
          Added to every destination, so that your web analytics recognize the code.
        </p>
        <div class="utm-row">
          {utmChoices.map(({ value: key, label }) => (
            <TextField
              key={key}
              label={`UTM ${label.toLowerCase()}`}
              isOptional
              lengthMax={utmLengthMax}
              value={utm[key]}
              onInput={(text) => change({ utm: { ...utm, [key]: text } })}
              fault={faults.under(`utm.${key}`)}
              isReadOnly={!may('editor')}
            />
          ))}
        </div>
        <p class="field-hint">
          <code>{'{slug}'}</code>, <code>{'{label}'}</code> and <code>{'{campaign}'}</code> stand
          for the short code, the name in analytics and the campaign.
        </p>
        <CheckField
          label="Pass on the parameters of the short link"
          hint="A print with ?table=5 leads to a destination with ?table=5."
          checked={passQuery}
          onChange={(checked) => change({ passQuery: checked })}
          disabled={!may('editor')}
        />
        {passFault !== undefined && <p class="field-fault">{passFault}</p>}
      </div>
    </details>
  );
}
