/** Picks several values: check boxes; for many values, a search and chips. */
import { useState } from 'preact/hooks';
import { CheckField, TextField } from '../../../parts/field.tsx';
import { Chip } from '../../../parts/list.tsx';
import type { Choice } from './route-choices.ts';

interface PickProps<T extends string> {
  readonly legend: string;
  readonly choices: ReadonlyArray<Choice<T>>;
  readonly chosen: readonly T[];
  readonly onChange: (chosen: readonly T[]) => void;
  readonly fault: string | undefined;
}

const toggled = <T extends string>(chosen: readonly T[], value: T): readonly T[] =>
  chosen.includes(value) ? chosen.filter((other) => other !== value) : [...chosen, value];

/** A few, all in view. */
export function PickField<T extends string>(props: PickProps<T>) {
  const { legend, choices, chosen, onChange, fault } = props;
  const toggle = (value: T): void => {
    const next = toggled(chosen, value);
    // In the order of the choices.
    onChange(choices.map((choice) => choice.value).filter((one) => next.includes(one)));
  };
  return (
    <fieldset class="bare pick">
      <legend class="unseen">{legend}</legend>
      <div class="pick-row">
        {choices.map(({ value, label }) => (
          <CheckField
            key={value}
            label={label}
            checked={chosen.includes(value)}
            onChange={() => toggle(value)}
          />
        ))}
      </div>
      {fault !== undefined && <p class="field-fault">{fault}</p>}
    </fieldset>
  );
}

interface SearchProps<T extends string> extends PickProps<T> {
  readonly placeholder: string;
  /** Name of a chosen value, also of one outside the choices. */
  readonly nameOf: (value: T) => string;
  /** A value outside the choices that the typed text names. */
  readonly typed?: (text: string) => Choice<T> | undefined;
}

const isSearch = (target: EventTarget | null): boolean =>
  target instanceof HTMLInputElement && target.type === 'search';

/** Many values, searched by name. */
export function SearchPickField<T extends string>(props: SearchProps<T>) {
  const { legend, choices, chosen, onChange, fault, placeholder, nameOf, typed } = props;
  const [text, setText] = useState('');
  const wanted = text.trim().toLowerCase();
  const found = choices.filter(
    ({ value, label }) => label.toLowerCase().includes(wanted) || value.toLowerCase() === wanted,
  );
  const other = found.length === 0 ? typed?.(text) : undefined;
  const shown = other === undefined ? found : [other];
  const pickFirst = (): void => {
    const [first] = shown;
    if (wanted === '' || first === undefined) return;
    onChange(toggled(chosen, first.value));
    setText('');
  };
  return (
    <div
      class="form pick"
      onKeyDown={(event) => {
        // Enter would submit the form.
        if (event.key !== 'Enter' || !isSearch(event.target)) return;
        event.preventDefault();
        pickFirst();
      }}
    >
      {chosen.length > 0 && (
        <div class="picked">
          {chosen.map((value) => (
            <Chip
              key={value}
              label={nameOf(value)}
              action={`Remove ${nameOf(value)}`}
              onRemove={() => onChange(toggled(chosen, value))}
            />
          ))}
        </div>
      )}
      <TextField
        label={legend}
        isLabelHidden
        type="search"
        value={text}
        onInput={setText}
        placeholder={placeholder}
        fault={fault}
      />
      <div class="pick-list" tabIndex={0} role="group" aria-label={legend}>
        {shown.length === 0 && <p class="pick-empty soft">No matches.</p>}
        {shown.map(({ value, label }) => (
          <CheckField
            key={value}
            label={label}
            checked={chosen.includes(value)}
            onChange={() => onChange(toggled(chosen, value))}
          />
        ))}
      </div>
    </div>
  );
}
