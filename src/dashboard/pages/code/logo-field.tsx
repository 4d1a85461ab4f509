/** The logo: a file of at most 256 KB, stored by the service with the design. */
import { useId, useState } from 'preact/hooks';
import type { Design } from '../../../model/design.ts';
import { Button } from '../../parts/button.tsx';
import { SliderField } from '../../parts/field.tsx';

interface LogoProps {
  readonly design: Design;
  readonly onChange: (design: Design) => void;
}

const bytesMax = 262_144;
const standardScale = 0.22;
const types = ['image/png', 'image/jpeg', 'image/svg+xml'];

export function LogoField({ design, onChange }: LogoProps) {
  const id = useId();
  const [fault, setFault] = useState<string>();
  const { logo, logoScale = standardScale, ...rest } = design;
  const percent = Math.round(logoScale * 100);
  const take = async (file: File | undefined): Promise<void> => {
    setFault(undefined);
    if (file === undefined) return;
    if (!types.includes(file.type)) return setFault('Expected a PNG, JPEG or SVG file.');
    if (file.size > bytesMax) return setFault('Expected a file of at most 256 KB.');
    onChange({ ...design, logo: await dataUrl(file) });
  };
  return (
    <div class="form-row">
      <div class={`field${fault === undefined ? '' : ' field-faulty'}`}>
        <label class="field-label" for={id}>
          Logo <span class="field-optional">optional</span>
        </label>
        <input
          id={id}
          class="input"
          type="file"
          accept={types.join(',')}
          aria-describedby={`${id}-hint`}
          onChange={(event) => void take(event.currentTarget.files?.[0])}
        />
        <p class={fault === undefined ? 'field-hint' : 'field-fault'} id={`${id}-hint`}>
          {fault ?? 'PNG, JPEG or SVG up to 256 KB'}
        </p>
      </div>
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

/** `data:image/png;base64,…` */
async function dataUrl(file: File): Promise<string> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') resolve(reader.result);
    });
    reader.addEventListener('error', () => reject(new Error('the file cannot be read')));
    reader.readAsDataURL(file);
  });
}
