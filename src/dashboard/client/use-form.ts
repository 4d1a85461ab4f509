/** A form: its texts, its faults, and its submission, one request at a time. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Problem, problemOf } from './problem.ts';

export interface Submission {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** The problem, unless all its faults are shown at fields. */
  readonly otherProblem: () => Problem | undefined;
  readonly submit: (request: () => Promise<void>) => void;
}

interface FieldProps {
  readonly value: string;
  readonly onInput: (text: string) => void;
  readonly fault: string | undefined;
}

export interface FormState<Texts> extends Submission {
  readonly texts: Texts;
  readonly setTexts: (texts: Texts) => void;
  /** Props of the field with this text; its name is its path in the API. */
  readonly field: (name: keyof Texts & string) => FieldProps;
  /** The fault of a field, by its path in the API. */
  readonly faultOf: (path: string) => string | undefined;
}

export function useForm<Texts extends Readonly<Record<string, string>>>(
  start: Texts,
): FormState<Texts> {
  const [texts, setTexts] = useState(start);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const shownPaths = useRef(new Set<string>());
  // Focus the first faulty field, in the open dialog or on the page.
  useEffect(() => {
    if (problem === undefined) return;
    const place = document.querySelector('dialog[open]') ?? document;
    place.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problem]);
  const run = async (request: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await request();
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setBusy(false);
    }
  };
  const faultOf = (path: string): string | undefined => {
    shownPaths.current.add(path);
    return problem?.faultOf(path);
  };
  return {
    texts,
    setTexts,
    isBusy,
    problem,
    faultOf,
    field: (name) => ({
      value: texts[name] ?? '',
      onInput: (text) => setTexts((before) => ({ ...before, [name]: text })),
      fault: faultOf(name),
    }),
    otherProblem: () => {
      const faults = problem?.faults ?? [];
      const areShown = faults.every(({ path }) => shownPaths.current.has(path));
      return faults.length > 0 && areShown ? undefined : problem;
    },
    submit: (request) => {
      if (!isBusy) void run(request);
    },
  };
}
