/** Submits a form: one request at a time, the problem kept until the next try. */
import { useEffect, useState } from 'preact/hooks';
import { type Problem, problemOf } from './problem.ts';

export interface Submission {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** The fault of one field, by its path in the API. */
  readonly faultOf: (path: string) => string | undefined;
  /** The problem, unless all its faults are shown at the form's fields. */
  readonly otherProblem: (shownPaths: readonly string[]) => Problem | undefined;
  readonly submit: (request: () => Promise<void>) => void;
}

export function useSubmission(): Submission {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
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
  return {
    isBusy,
    problem,
    faultOf: (path) => problem?.faultOf(path),
    otherProblem: (paths) => {
      const faults = problem?.faults ?? [];
      const isShown = faults.length > 0 && faults.every(({ path }) => paths.includes(path));
      return isShown ? undefined : problem;
    },
    submit: (request) => {
      if (!isBusy) void run(request);
    },
  };
}
