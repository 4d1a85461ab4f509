/** The logo of a design, stored by the service with it, and its size. */
import type { Design } from '../../../model/design.ts';
import { Button } from '../../parts/button.tsx';
import { SliderField } from '../../parts/field.tsx';
import { LogoInput } from './logo-input.tsx';

interface LogoProps {
  readonly design: Design;
  readonly onChange: (design: Design) => void;
}

const standardScale = 0.22;

export function LogoField({ design, onChange }: LogoProps) {
  const { logo, logoScale = standardScale, ...rest } = design;
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
