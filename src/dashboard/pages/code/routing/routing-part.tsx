/**
 * Where a code leads, for whom and when: its rules in order, the destination of everyone else, and a form to try it.
 * Changes take effect when saved.
 */
import { useEffect, useRef } from 'preact/hooks';
import { rulesMax } from '../../../../model/routing/routing.ts';
import { currentQuery, setQuery } from '../../../client/router.ts';
import { may } from '../../../client/session.ts';
import type { QrCode } from '../../../client/wire.ts';
import { browserZone } from '../../../client/zones.ts';
import { Button } from '../../../parts/button.tsx';
import { Icon, type IconName } from '../../../parts/icon.tsx';
import { Menu, MenuItem } from '../../../parts/menu.tsx';
import { Notice, ProblemNotice } from '../../../parts/notice.tsx';
import { Card } from '../../../parts/page.tsx';
import { OptionsCards } from './options-card.tsx';
import { type ConditionsDraft, newKey, type RoutingDraft, type RuleDraft } from './route-draft.ts';
import { RuleList } from './rule-list.tsx';
import { TryIt } from './try-it.tsx';
import { type RoutingForm, useRouting } from './use-routing.ts';

export function RoutingPart({ code }: { readonly code: QrCode }) {
  const form = useRouting(code);
  const { draft, add, isChanged, faults } = form;
  const place = useRef<HTMLFormElement>(null);
  const wasChanged = useRef(isChanged);
  // The buttons exist only while there are changes, and would take the focus with them.
  useEffect(() => {
    const hasEnded = wasChanged.current && !isChanged;
    wasChanged.current = isChanged;
    if (!hasEnded || document.activeElement !== document.body) return;
    place.current?.querySelector<HTMLElement>('.rules')?.focus({ preventScroll: true });
  }, [isChanged]);
  const query = currentQuery.value;
  useEffect(() => {
    if (query.get('focus') !== 'rules') return;
    setQuery({ focus: undefined });
    place.current?.querySelector<HTMLElement>('.rules')?.focus();
  }, [query]);
  const isEmpty = draft.rules.length === 0;
  const ruleFault = faults.at('rules');
  return (
    <div class="grid-main routing">
      <form
        ref={place}
        class="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) form.save();
        }}
      >
        <Card title="Where it leads" lead={leadOf(draft)}>
          {isEmpty && may('editor') && <Recipes onAdd={add} />}
          <RuleList form={form} target={code.target} />
          {ruleFault !== undefined && <p class="field-fault">{ruleFault}</p>}
          {may('editor') && !isEmpty && <AddRule onAdd={add} count={draft.rules.length} />}
        </Card>
        <OptionsCards form={form} />
        {may('editor') && <SaveBar form={form} />}
      </form>
      <TryIt code={code} isChanged={isChanged} />
    </div>
  );
}

function leadOf({ rules, split }: RoutingDraft): string {
  if (rules.length > 0) return 'Rules are tried from the top. The first match wins.';
  const start =
    split === undefined
      ? 'Everyone who scans it gets the same page.'
      : 'Scans are split by weight.';
  return may('editor') ? `${start} Send some people elsewhere:` : start;
}

/** Common rules; the user adds the addresses. */
interface Recipe {
  readonly icon: IconName;
  readonly title: string;
  readonly text: string;
  readonly rules: () => readonly RuleDraft[];
}

const ruleFor = (conditions: ConditionsDraft): RuleDraft => ({
  key: newKey(),
  label: '',
  if: conditions,
  target: '',
  split: undefined,
});

/** The most common second language of menus. */
const otherLanguage = (): string => (navigator.language.startsWith('en') ? 'es' : 'en');

const recipes: readonly Recipe[] = [
  {
    icon: 'download',
    title: 'App stores',
    text: 'iPhones go to the App Store, Android phones to Google Play.',
    rules: () => [ruleFor({ os: ['iOS'] }), ruleFor({ os: ['Android'] })],
  },
  {
    icon: 'language',
    title: 'Languages',
    text: 'Each phone gets the page in its language.',
    rules: () => [ruleFor({ language: [otherLanguage()] })],
  },
  {
    icon: 'clock',
    title: 'Opening hours',
    text: 'One page while you are open, your destination at all other times.',
    rules: () => [
      ruleFor({
        time: {
          days: ['mon', 'tue', 'wed', 'thu', 'fri'],
          from: '11:00',
          to: '22:00',
          timezone: browserZone(),
        },
      }),
    ],
  },
];

interface AddProps {
  readonly onAdd: (rules: readonly RuleDraft[]) => void;
}

/** Suggested first rules. */
function Recipes({ onAdd }: AddProps) {
  return (
    <div class="recipes">
      {recipes.map((recipe) => (
        <RecipeCard key={recipe.title} recipe={recipe} onAdd={onAdd} />
      ))}
      <p class="recipes-own">
        <Button size="small" icon="plus" onClick={() => onAdd([ruleFor({})])}>
          Your own rule
        </Button>
      </p>
    </div>
  );
}

function RecipeCard({ recipe, onAdd }: AddProps & { readonly recipe: Recipe }) {
  const { icon, title, text, rules } = recipe;
  return (
    <button type="button" class="recipe" onClick={() => onAdd(rules())}>
      <Icon name={icon} size={22} />
      <b>{title}</b>
      <span class="soft">{text}</span>
    </button>
  );
}

function AddRule({ onAdd, count }: AddProps & { readonly count: number }) {
  if (count >= rulesMax) return <span class="soft">{rulesMax} rules at most</span>;
  return (
    <Menu
      align="start"
      buttonClass="button button-plain button-small"
      button={
        <>
          <Icon name="plus" />
          <span>Add rule</span>
        </>
      }
    >
      <MenuItem icon="plus" onClick={() => onAdd([ruleFor({})])}>
        Your own rule
      </MenuItem>
      {recipes.map(({ title, icon, rules }) => (
        <MenuItem key={title} icon={icon} onClick={() => onAdd(rules())}>
          {title}
        </MenuItem>
      ))}
    </Menu>
  );
}

/** At the bottom of the window while there are unsaved changes. */
function SaveBar({ form }: { readonly form: RoutingForm }) {
  const { isChanged, isOutdated, discard, isBusy, problem, faults } = form;
  if (!isChanged) return null;
  const isPlaced = problem !== undefined && problem.faults.length > 0 && faults.areShown;
  return (
    <div class="save-bar">
      {isOutdated && (
        <Notice tone="warn" title="Someone else changed these rules">
          <p>
            Discard your changes to see theirs. If you save, your fields win and theirs stay in all
            others.
          </p>
        </Notice>
      )}
      {problem !== undefined && !isPlaced && <ProblemNotice problem={problem} />}
      {isPlaced && (
        <p class="field-fault" role="alert">
          Not saved: correct the marked fields.
        </p>
      )}
      <div class="form-foot">
        <Button type="submit" tone="accent" isBusy={isBusy}>
          Save changes
        </Button>
        <Button onClick={discard}>Discard</Button>
        <span class="soft hide-narrow">Not saved yet.</span>
      </div>
    </div>
  );
}
