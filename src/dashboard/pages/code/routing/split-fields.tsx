/** Several destinations with their weights, and a bar of their shares. */
import { labelLengthMax } from '../../../../model/routing/labels.ts';
import { splitLeast, splitMax, weightMax } from '../../../../model/routing/routing.ts';
import { shortAddress } from '../../../client/format.ts';
import { Button } from '../../../parts/button.tsx';
import { TextField } from '../../../parts/field.tsx';
import { newKey, type VariantDraft } from './route-draft.ts';
import type { RouteFaults } from './route-faults.ts';
import { wholePercents } from './shares.ts';

const weightAtFirst = 50;

export const newVariant = (target = ''): VariantDraft => ({
  key: newKey(),
  label: '',
  target,
  weight: String(weightAtFirst),
});

/** The API's error for an address; a shorter text for a missing one. */
export const addressFault = (text: string, fault: string | undefined): string | undefined =>
  fault !== undefined && text.trim() === '' ? 'Enter a web address' : fault;

interface SplitProps {
  readonly split: readonly VariantDraft[];
  readonly labels: ReadonlyMap<number, string>;
  readonly faults: RouteFaults;
  /** Error of the list. */
  readonly fault: string | undefined;
  readonly onChange: (split: readonly VariantDraft[]) => void;
}

export function SplitFields({ split, labels, faults, fault, onChange }: SplitProps) {
  const set = (key: number, change: Partial<VariantDraft>): void =>
    onChange(split.map((one) => (one.key === key ? { ...one, ...change } : one)));
  const percents = percentsOf(split);
  return (
    <div class="form">
      <p class="field-hint">
        Visitors are split by weight. A returning visitor gets the same destination.
      </p>
      <ShareBar split={split} />
      <ol class="variants">
        {split.map((one, at) => (
          <li key={one.key} class="variant" aria-label={`Destination ${at + 1}`}>
            <span class={`share-dot share-${at + 1}`} aria-hidden="true" />
            <TextField
              label={`Destination ${at + 1}`}
              type="url"
              placeholder="https://example.com/menu"
              value={one.target}
              onInput={(target) => set(one.key, { target })}
              fault={
                addressFault(one.target, faults.underKey(one.key, 'target')) ??
                faults.atKey(one.key)
              }
            />
            <TextField
              label="Weight"
              type="number"
              min={1}
              max={weightMax}
              value={one.weight}
              onInput={(weight) => set(one.key, { weight })}
              hint={`${percents[at] ?? 0} % of visitors`}
              fault={faults.underKey(one.key, 'weight')}
            />
            <TextField
              label="Name"
              placeholder={labels.get(one.key) ?? ''}
              lengthMax={labelLengthMax}
              value={one.label}
              onInput={(label) => set(one.key, { label })}
              fault={faults.underKey(one.key, 'label')}
            />
            <Button
              tone="quiet"
              icon="trash"
              label={`Remove destination ${at + 1}`}
              disabled={split.length <= splitLeast}
              onClick={() => onChange(split.filter(({ key }) => key !== one.key))}
            />
          </li>
        ))}
      </ol>
      {fault !== undefined && <p class="field-fault">{fault}</p>}
      {split.length < splitMax && (
        <p>
          <Button size="small" icon="plus" onClick={() => onChange([...split, newVariant()])}>
            Another destination
          </Button>
        </p>
      )}
    </div>
  );
}

const percentsOf = (split: ReadonlyArray<{ readonly weight: string | number }>) =>
  wholePercents(split.map(({ weight }) => Math.max(0, Number(weight) || 0)));

/** Decoration: the numbers are in the list. */
function ShareBar({ split }: { readonly split: readonly VariantDraft[] }) {
  const percents = percentsOf(split);
  return (
    <div class="share-bar" aria-hidden="true">
      {split.map(({ key }, at) => (
        <span key={key} class={`share-${at + 1}`} style={{ width: `${percents[at] ?? 0}%` }} />
      ))}
    </div>
  );
}

/** A read-only split. */
export function SplitText({ split }: { readonly split: readonly VariantDraft[] }) {
  const percents = percentsOf(split);
  return (
    <div class="split-text">
      <ShareBar split={split} />
      <ul>
        {split.map(({ key, target }, at) => (
          <li key={key}>
            <span class={`share-dot share-${at + 1}`} aria-hidden="true" />{' '}
            <span class="number">{percents[at]} %</span>{' '}
            <span class="break">{target === '' ? '…' : shortAddress(target)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}
