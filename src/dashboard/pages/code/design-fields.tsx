/** The fields of a design. What is as the standard has it is left out of the design. */
import { useId, useState } from 'preact/hooks';
import type { Design, Gradient } from '../../client/wire.ts';
import { CheckField, ChoiceField, SelectField } from '../../parts/field.tsx';
import { LogoField } from './logo-field.tsx';

interface FieldsProps {
  readonly design: Design;
  readonly onChange: (design: Design) => void;
}

const dotStyles = [
  { value: 'square', label: 'Square' },
  { value: 'rounded', label: 'Rounded' },
  { value: 'dots', label: 'Dots' },
] as const;
const eyeStyles = [
  { value: 'square', label: 'Square' },
  { value: 'rounded', label: 'Rounded' },
  { value: 'circle', label: 'Circle' },
] as const;
const corrections = [
  { value: 'auto', label: 'By itself' },
  { value: 'L', label: 'L: 7 %' },
  { value: 'M', label: 'M: 15 %' },
  { value: 'Q', label: 'Q: 25 %' },
  { value: 'H', label: 'H: 30 %' },
] as const;
const gradientTypes = [
  { value: 'linear', label: 'Across' },
  { value: 'radial', label: 'From the middle' },
] as const;

const standard = { foreground: '#000000', background: '#ffffff', margin: 4 } as const;
const firstGradient: Gradient = { from: '#0f6b5c', to: '#16324f', type: 'linear' };
const marginMax = 20;

/** The design with one field set; undefined takes it out. */
function withField<K extends keyof Design>(design: Design, key: K, value: Design[K]): Design {
  const { [key]: _before, ...rest } = design;
  return value === undefined ? rest : { ...rest, [key]: value };
}

export function DesignFields({ design, onChange }: FieldsProps) {
  const set = <K extends keyof Design>(key: K, value: Design[K]): void =>
    onChange(withField(design, key, value));
  return (
    <>
      <ChoiceField
        legend="Dots"
        value={design.dotStyle ?? 'square'}
        options={dotStyles}
        onChange={(value) => set('dotStyle', value === 'square' ? undefined : value)}
      />
      <ChoiceField
        legend="Corners"
        value={design.eyeStyle ?? 'square'}
        options={eyeStyles}
        onChange={(value) => set('eyeStyle', value === 'square' ? undefined : value)}
      />
      <Colours design={design} onChange={onChange} />
      <LogoField design={design} onChange={onChange} />
      <div class="form-row">
        <SelectField
          label="Error correction"
          value={design.errorCorrection ?? 'auto'}
          options={corrections}
          hint="How much of a print may be lost"
          onChange={(value) => set('errorCorrection', value === 'auto' ? undefined : value)}
        />
        <MarginField
          value={design.margin ?? standard.margin}
          onChange={(value) => set('margin', value === standard.margin ? undefined : value)}
        />
      </div>
    </>
  );
}

function Colours({ design, onChange }: FieldsProps) {
  const set = <K extends keyof Design>(key: K, value: Design[K]): void =>
    onChange(withField(design, key, value));
  const { gradient } = design;
  const isClear = design.background === 'transparent';
  const setGradient = (change: Partial<Gradient>): void =>
    set('gradient', { ...firstGradient, ...gradient, ...change });
  return (
    <>
      <div class="form-row">
        {gradient === undefined && (
          <ColourField
            label="Dots’ colour"
            value={design.foreground ?? standard.foreground}
            onChange={(value) =>
              set('foreground', value === standard.foreground ? undefined : value)
            }
          />
        )}
        {!isClear && (
          <ColourField
            label="Background"
            value={design.background ?? standard.background}
            onChange={(value) =>
              set('background', value === standard.background ? undefined : value)
            }
          />
        )}
        {design.eyeColor !== undefined && (
          <ColourField
            label="Corners’ colour"
            value={design.eyeColor}
            onChange={(value) => set('eyeColor', value)}
          />
        )}
      </div>
      <CheckField
        label="Transparent background"
        hint="For white paper"
        checked={isClear}
        onChange={(checked) => set('background', checked ? 'transparent' : undefined)}
      />
      <CheckField
        label="Corners in a colour of their own"
        checked={design.eyeColor !== undefined}
        onChange={(checked) =>
          set('eyeColor', checked ? (design.foreground ?? '#0f6b5c') : undefined)
        }
      />
      <CheckField
        label="Dots from one colour to another"
        checked={gradient !== undefined}
        onChange={(checked) => set('gradient', checked ? firstGradient : undefined)}
      />
      {gradient !== undefined && <GradientFields gradient={gradient} onChange={setGradient} />}
    </>
  );
}

interface GradientProps {
  readonly gradient: Gradient;
  readonly onChange: (change: Partial<Gradient>) => void;
}

function GradientFields({ gradient, onChange }: GradientProps) {
  return (
    <div class="form-row">
      <ColourField label="From" value={gradient.from} onChange={(from) => onChange({ from })} />
      <ColourField label="To" value={gradient.to} onChange={(to) => onChange({ to })} />
      <SelectField
        label="Direction"
        value={gradient.type ?? 'linear'}
        options={gradientTypes}
        onChange={(type) => onChange({ type })}
      />
    </div>
  );
}

const hexPattern = /^#[0-9a-f]{6}$/i;

interface ColourProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A colour to be picked, or written. */
function ColourField({ label, value, onChange }: ColourProps) {
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

interface MarginProps {
  readonly value: number;
  readonly onChange: (value: number) => void;
}

function MarginField({ value, onChange }: MarginProps) {
  const id = useId();
  return (
    <div class="field">
      <label class="field-label" for={id}>
        Quiet zone: {value} {value === 1 ? 'module' : 'modules'}
      </label>
      <input
        id={id}
        class="slider"
        type="range"
        min={0}
        max={marginMax}
        value={value}
        onInput={(event) => onChange(Number(event.currentTarget.value))}
      />
      <p class="field-hint">Scanners want 4 around the code</p>
    </div>
  );
}
