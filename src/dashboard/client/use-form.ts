/** Submitting: one at a time, the problem kept for the form to show, gone with the next try. */
import { useEffect, useState } from 'preact/hooks';
import { type Problem, problemOf } from './problem.ts';

export interface Submission {
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  /** Faults of one field, by the API's path of it. */
  readonly faultOf: (path: string) => string | undefined;
  /** What is wrong and belongs to none of the fields that the form has. */
  readonly otherProblem: (shownPaths: readonly string[]) => Problem | undefined;
  readonly submit: (work: () => Promise<void>) => void;
}

export function useSubmission(): Submission {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  // To the first field that is wrong: in the open dialog, else on the page.
  useEffect(() => {
    if (problem === undefined) return;
    const place = document.querySelector('dialog[open]') ?? document;
    place.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problem]);
  const run = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      await work();
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
    submit: (work) => {
      if (!isBusy) void run(work);
    },
  };
}
