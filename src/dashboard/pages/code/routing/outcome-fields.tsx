/** The destination of a rule or of everyone else: one, or several by weight. */
import type { ComponentChildren } from 'preact';
import { ChoiceField } from '../../../parts/field.tsx';
import type { VariantDraft } from './route-draft.ts';
import type { RouteFaults } from './route-faults.ts';
import { newVariant, SplitFields } from './split-fields.tsx';

interface OutcomeProps {
  readonly split: readonly VariantDraft[] | undefined;
  readonly onSplit: (split: readonly VariantDraft[] | undefined) => void;
  /** Label of the choice without a split. */
  readonly single: string;
  /** The first destination of a new split. */
  readonly first: string;
  readonly labels: ReadonlyMap<number, string>;
  readonly faults: RouteFaults;
  /** Error of the split. */
  readonly fault: string | undefined;
  /** The field of the one destination. */
  readonly children: ComponentChildren;
}

export function OutcomeFields(props: OutcomeProps) {
  const { split, onSplit, single, first, labels, faults, fault, children } = props;
  return (
    <div class="form">
      <ChoiceField<'one' | 'several'>
        legend="Leads to"
        value={split === undefined ? 'one' : 'several'}
        options={[
          { value: 'one', label: single },
          { value: 'several', label: 'Several, by weight' },
        ]}
        onChange={(kind) => onSplit(kind === 'one' ? undefined : [newVariant(first), newVariant()])}
      />
      {split === undefined ? (
        children
      ) : (
        <SplitFields
          split={split}
          labels={labels}
          faults={faults}
          fault={fault}
          onChange={onSplit}
        />
      )}
    </div>
  );
}
