/** A logo from a file of at most 256 KB, as a data URL. */
import { useId, useState } from 'preact/hooks';

interface LogoInputProps {
  /** The service's error for the logo. */
  readonly fault?: string | undefined;
  readonly onTake: (dataUrl: string) => void;
}

const bytesMax = 262_144;
const types = ['image/png', 'image/jpeg', 'image/svg+xml'];

export function LogoInput({ fault: refused, onTake }: LogoInputProps) {
  const id = useId();
  const [unfit, setUnfit] = useState<string>();
  const fault = unfit ?? refused;
  const take = async (file: File | undefined): Promise<void> => {
    setUnfit(undefined);
    if (file === undefined) return;
    if (!types.includes(file.type)) return setUnfit('Use a PNG, JPEG or SVG file.');
    if (file.size > bytesMax) return setUnfit('Use a file of at most 256 KB.');
    onTake(await dataUrl(file));
  };
  return (
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
  );
}

/** `data:image/png;base64,…` */
async function dataUrl(file: File): Promise<string> {
  return await new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('load', () => {
      if (typeof reader.result === 'string') resolve(reader.result);
    });
    reader.addEventListener('error', () => reject(new Error('Cannot read the file')));
    reader.readAsDataURL(file);
  });
}
