/** The fields of a design. Default values are left out of the design. */
import type { Design, Gradient } from '../../../model/design.ts';
import { plural } from '../../client/format.ts';
import { Button } from '../../parts/button.tsx';
import {
  CheckField,
  ChoiceField,
  ColorField,
  SelectField,
  SliderField,
} from '../../parts/field.tsx';
import { LogoInput } from './logo-input.tsx';

interface FieldsProps {
  readonly design: Design;
  readonly onChange: (design: Design) => void;
}

const dotStyles = [
  { value: 'square', label: 'Square', picture: <Modules round={0} /> },
  { value: 'rounded', label: 'Rounded', picture: <Modules round={2} /> },
  { value: 'dots', label: 'Dots', picture: <Modules round={3} /> },
] as const;
const eyeStyles = [
  { value: 'square', label: 'Square', picture: <FinderPicture round={0} /> },
  { value: 'rounded', label: 'Rounded', picture: <FinderPicture round={5} /> },
  { value: 'circle', label: 'Circle', picture: <FinderPicture round={9} /> },
] as const;
const corrections = [
  { value: 'auto', label: 'Automatic' },
  { value: 'L', label: 'L, 7 %' },
  { value: 'M', label: 'M, 15 %' },
  { value: 'Q', label: 'Q, 25 %' },
  { value: 'H', label: 'H, 30 %' },
] as const;
const gradientTypes = [
  { value: 'linear', label: 'Linear' },
  { value: 'radial', label: 'Radial' },
] as const;

const standard = { foreground: '#000000', background: '#ffffff', margin: 4 } as const;
const firstGradient: Gradient = { from: '#0f6b5c', to: '#16324f', type: 'linear' };
const marginMax = 20;
const standardLogoScale = 0.22;

const moduleCorners = [
  [0, 0],
  [6, 0],
  [0, 6],
  [12, 6],
  [6, 12],
  [12, 12],
] as const;

/** Sample modules; `round` is their corner radius in a square of 18 units. */
function Modules({ round }: { readonly round: number }) {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" fill="currentColor" aria-hidden="true">
      {moduleCorners.map(([x, y]) => (
        <rect key={`${x} ${y}`} x={x} y={y} width="6" height="6" rx={round} />
      ))}
    </svg>
  );
}

/** A sample finder pattern. */
function FinderPicture({ round }: { readonly round: number }) {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <rect
        x="1"
        y="1"
        width="16"
        height="16"
        rx={Math.min(8, round)}
        fill="none"
        stroke="currentColor"
        stroke-width="2"
      />
      <rect x="5" y="5" width="8" height="8" rx={Math.min(4, round)} fill="currentColor" />
    </svg>
  );
}

/** The design with one field set; undefined removes it. */
function withField<K extends keyof Design>(design: Design, key: K, value: Design[K]): Design {
  const { [key]: _before, ...rest } = design;
  return value === undefined ? rest : { ...rest, [key]: value };
}

export function DesignFields({ design, onChange }: FieldsProps) {
  const set = <K extends keyof Design>(key: K, value: Design[K]): void =>
    onChange(withField(design, key, value));
  const { margin = standard.margin } = design;
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
      <Colors design={design} onChange={onChange} />
      <LogoField design={design} onChange={onChange} />
      <div class="form-row">
        <SelectField
          label="Error correction"
          value={design.errorCorrection ?? 'auto'}
          options={corrections}
          hint="More correction survives more damage"
          onChange={(value) => set('errorCorrection', value === 'auto' ? undefined : value)}
        />
        <SliderField
          label={`Quiet zone: ${plural(margin, 'module')}`}
          hint="4 modules are recommended"
          min={0}
          max={marginMax}
          value={margin}
          onInput={(value) => set('margin', value === standard.margin ? undefined : value)}
        />
      </div>
    </>
  );
}

function Colors({ design, onChange }: FieldsProps) {
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
          <ColorField
            label="Dot color"
            value={design.foreground ?? standard.foreground}
            onChange={(value) =>
              set('foreground', value === standard.foreground ? undefined : value)
            }
          />
        )}
        {!isClear && (
          <ColorField
            label="Background"
            value={design.background ?? standard.background}
            onChange={(value) =>
              set('background', value === standard.background ? undefined : value)
            }
          />
        )}
        {design.eyeColor !== undefined && (
          <ColorField
            label="Corner color"
            value={design.eyeColor}
            onChange={(value) => set('eyeColor', value)}
          />
        )}
      </div>
      <CheckField
        label="Transparent background"
        hint="For light paper only"
        checked={isClear}
        onChange={(checked) => set('background', checked ? 'transparent' : undefined)}
      />
      <CheckField
        label="Different color for the corners"
        checked={design.eyeColor !== undefined}
        onChange={(checked) =>
          set('eyeColor', checked ? (design.foreground ?? '#0f6b5c') : undefined)
        }
      />
      <CheckField
        label="Gradient"
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
      <ColorField label="From" value={gradient.from} onChange={(from) => onChange({ from })} />
      <ColorField label="To" value={gradient.to} onChange={(to) => onChange({ to })} />
      <SelectField
        label="Direction"
        value={gradient.type ?? 'linear'}
        options={gradientTypes}
        onChange={(type) => onChange({ type })}
      />
    </div>
  );
}

/** The logo, which the service stores with the design, and its size. */
function LogoField({ design, onChange }: FieldsProps) {
  const { logo, logoScale = standardLogoScale, ...rest } = design;
  const percent = Math.round(logoScale * 100);
  return (
    <div class="form-row">
      <LogoInput onTake={(file) => onChange({ ...design, logo: file })} />
      {logo !== undefined && (
        <div class="field">
          <SliderField
            label={`Logo size: ${percent} %`}
            min={5}
            max={25}
            value={percent}
            onInput={(value) => onChange({ ...design, logoScale: value / 100 })}
          />
          <Button size="small" icon="trash" onClick={() => onChange(rest)}>
            Remove logo
          </Button>
        </div>
      )}
    </div>
  );
}
