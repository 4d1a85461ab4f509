/** Form fields: a label, the control, a hint and its fault, connected for screen readers. */
import { type ComponentChildren, h, type TargetedEvent } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

interface Common {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly fault?: string | undefined;
  readonly isOptional?: boolean;
  readonly isLabelHidden?: boolean;
}

interface FrameProps extends Common {
  readonly id: string;
  readonly children: ComponentChildren;
}

function Frame({ id, label, hint, fault, isOptional, isLabelHidden, children }: FrameProps) {
  return (
    <div class={`field${fault === undefined ? '' : ' field-faulty'}`}>
      <label for={id} class={isLabelHidden === true ? 'unseen' : 'field-label'}>
        {label}
        {isOptional === true && <span class="field-optional"> optional</span>}
      </label>
      {children}
      {hint !== undefined && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="field-fault" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}

const describedBy = (id: string, { hint, fault }: Common): string | undefined => {
  const ids = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(fault === undefined ? [] : [`${id}-fault`]),
  ];
  return ids.length === 0 ? undefined : ids.join(' ');
};

interface TextProps extends Common {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly type?:
    | 'text'
    | 'email'
    | 'password'
    | 'url'
    | 'number'
    | 'date'
    | 'datetime-local'
    | 'time'
    | 'search';
  readonly name?: string;
  readonly autocomplete?: AutoFill;
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly hasFocus?: boolean;
  readonly min?: string | number;
  readonly max?: string | number;
  readonly lengthMax?: number;
  readonly isReadOnly?: boolean;
  /** Suggested texts. */
  readonly suggestions?: readonly string[];
}

/** A plain string, because JSX types each `type` of an input separately. */
const inputTag: string = 'input';

export function TextField(props: TextProps) {
  const id = useId();
  const place = useRef<HTMLInputElement>(null);
  // `autofocus` only works on the first page of a document and in dialogs. An existing text is selected, because users
  // usually replace it.
  useEffect(() => {
    if (props.hasFocus === true) place.current?.select();
  }, []);
  const { value, onInput, type = 'text', fault, suggestions = [] } = props;
  const isOffered = suggestions.length > 0;
  return (
    <Frame id={id} {...props}>
      {isOffered && (
        <datalist id={`${id}-list`}>
          {suggestions.map((text) => (
            <option key={text} value={text} />
          ))}
        </datalist>
      )}
      {h(inputTag, {
        id,
        ref: place,
        class: 'input',
        type,
        name: props.name,
        value,
        placeholder: props.placeholder,
        // In Firefox, off hides the suggestions too.
        autocomplete: props.autocomplete ?? (isOffered ? undefined : 'off'),
        list: isOffered ? `${id}-list` : undefined,
        required: props.isRequired,
        autofocus: props.hasFocus,
        min: props.min,
        max: props.max,
        maxlength: props.lengthMax,
        readonly: props.isReadOnly,
        spellcheck: false,
        'aria-invalid': fault === undefined ? undefined : 'true',
        'aria-describedby': describedBy(id, props),
        onInput: (event: TargetedEvent<HTMLInputElement>) => onInput(event.currentTarget.value),
      })}
    </Frame>
  );
}

interface AreaProps extends Common {
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly rows?: number;
  readonly placeholder?: string;
}

export function AreaField(props: AreaProps) {
  const id = useId();
  const { value, onInput, rows = 4, fault, placeholder } = props;
  return (
    <Frame id={id} {...props}>
      <textarea
        id={id}
        class="input"
        rows={rows}
        placeholder={placeholder}
        spellcheck={false}
        aria-invalid={fault === undefined ? undefined : 'true'}
        aria-describedby={describedBy(id, props)}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </Frame>
  );
}

interface SelectProps<T extends string> extends Common {
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly options: ReadonlyArray<{ readonly value: T; readonly label: string }>;
  readonly disabled?: boolean;
}

export function SelectField<T extends string>(props: SelectProps<T>) {
  const id = useId();
  const { value, onChange, options, disabled } = props;
  const choose = (event: TargetedEvent<HTMLSelectElement>): void => {
    const chosen = options[event.currentTarget.selectedIndex];
    if (chosen !== undefined) onChange(chosen.value);
  };
  return (
    <Frame id={id} {...props}>
      <select
        id={id}
        class="input select"
        value={value}
        disabled={disabled}
        aria-describedby={describedBy(id, props)}
        onChange={choose}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </Frame>
  );
}

interface SliderProps {
  readonly label: string;
  readonly hint?: string;
  readonly min: number;
  readonly max: number;
  readonly value: number;
  readonly onInput: (value: number) => void;
}

export function SliderField({ label, hint, min, max, value, onInput }: SliderProps) {
  const id = useId();
  return (
    <Frame id={id} label={label} hint={hint}>
      <input
        id={id}
        class="slider"
        type="range"
        min={min}
        max={max}
        value={value}
        aria-describedby={describedBy(id, { label, hint })}
        onInput={(event) => onInput(Number(event.currentTarget.value))}
      />
    </Frame>
  );
}

interface CheckProps {
  readonly label: ComponentChildren;
  readonly hint?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function CheckField({ label, hint, checked, onChange, disabled }: CheckProps) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint !== undefined && <span class="field-hint">{hint}</span>}
      </span>
    </label>
  );
}

interface ChoiceProps<T extends string> {
  readonly legend: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
  readonly options: ReadonlyArray<{
    readonly value: T;
    readonly label: string;
    /** Next to the label, with the same meaning. */
    readonly picture?: ComponentChildren;
  }>;
}

/** One of a few choices, side by side. */
export function ChoiceField<T extends string>(props: ChoiceProps<T>) {
  const name = useId();
  const { legend, value, onChange, options } = props;
  return (
    <fieldset class="choice">
      <legend class="field-label">{legend}</legend>
      <div class="choice-row">
        {options.map((option) => (
          <label key={option.value} class="choice-item">
            <input
              type="radio"
              name={name}
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span>
              {option.picture}
              {option.label}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

const hexPattern = /^#[0-9a-f]{6}$/i;

interface ColorProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A color picker with a text field. */
export function ColorField({ label, value, onChange }: ColorProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const shown = hexPattern.test(text) && text.toLowerCase() !== value.toLowerCase() ? value : text;
  return (
    <div class="field">
      <label class="field-label" for={id}>
        {label}
      </label>
      <div class="color-row">
        <input
          id={id}
          class="input"
          type="color"
          value={value}
          onInput={(event) => {
            setText(event.currentTarget.value);
            onChange(event.currentTarget.value);
          }}
        />
        <input
          class="input"
          aria-label={`${label}, as #rrggbb`}
          value={shown}
          maxlength={7}
          spellcheck={false}
          onInput={(event) => {
            const written = event.currentTarget.value;
            setText(written);
            if (hexPattern.test(written)) onChange(written.toLowerCase());
          }}
        />
      </div>
    </div>
  );
}
