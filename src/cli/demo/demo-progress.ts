/** What `quietzone demo` prints while it works: a bar on a terminal, else a line for each step. */
import { SingleBar } from 'cli-progress';
import type { Process } from '../command.ts';

/** In their order, with their share of the time, in hundredths. */
const steps = {
  codes: { share: 34, text: 'making a workspace with its codes' },
  scans: { share: 18, text: 'writing 90 days of scans' },
  counting: { share: 36, text: 'counting them' },
  deliveries: { share: 12, text: 'ending a campaign, sending webhooks' },
} as const;
export type DemoStep = keyof typeof steps;

export class DemoProgress {
  readonly #printer: Pick<Process, 'progress' | 'terminal'>;
  readonly #bar: SingleBar | undefined;
  #step: DemoStep | undefined;
  /** Shares of the steps before. */
  #done = 0;

  constructor(printer: Pick<Process, 'progress' | 'terminal'>) {
    this.#printer = printer;
    if (printer.terminal === undefined) return;
    this.#bar = new SingleBar({
      format: '{bar} {percentage} % | {step}',
      hideCursor: true,
      stream: printer.terminal,
    });
  }

  /** Once each, in order. */
  begin(step: DemoStep): void {
    const { text } = steps[step];
    if (this.#step === undefined) this.#bar?.start(100, 0, { step: text });
    else this.#done += steps[this.#step].share;
    this.#step = step;
    this.#bar?.update(this.#done, { step: text });
    if (this.#bar === undefined) this.#printer.progress(text);
  }

  /** @param share of the step that is done, from 0 to 1 */
  show(share: number): void {
    if (this.#step === undefined) return;
    this.#bar?.update(Math.floor(this.#done + steps[this.#step].share * Math.min(1, share)));
  }

  stop(): void {
    this.#bar?.stop();
  }
}
