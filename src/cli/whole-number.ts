/** A number on the command line. Apart from command.ts, because the service starts without what reads commands. */
import { InvalidArgumentError } from 'commander';

/** @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected a whole number from 1.');
}
