/** What a letter about an incident says: one sentence, with numbers, in UTC like the API. */
import { isoTime } from '../model/day.ts';
import type { IncidentRecord } from '../model/watches/watch.ts';

export interface AlertWords {
  readonly subject: string;
  readonly sentence: string;
}

const numbers = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function alertWords(incident: IncidentRecord, what: 'begun' | 'ended'): AlertWords {
  const { kind, name, sinceMs, hours = 0, expected = 0, seen = 0, url = '' } = incident;
  const of = `“${name}”`;
  const since = timeText(sinceMs);
  if (kind === 'silent') {
    return {
      subject: `No scans: ${name}`,
      sentence: `${of} has had no scans since ${since}, ${hours} hours. On average it has ${numbers.format(expected)} in such hours.`,
    };
  }
  if (kind === 'spiking') {
    return {
      subject: `Many scans: ${name}`,
      sentence: `${of} had ${numbers.format(seen)} scans in the hour from ${since}. On average it has ${numbers.format(expected)} in that hour of the week.`,
    };
  }
  if (what === 'ended') {
    return {
      subject: `Target answers again: ${name}`,
      sentence: `${url}, where ${of} leads, answers again. It had failed since ${since}.`,
    };
  }
  return {
    subject: `Target fails: ${name}`,
    sentence: `${url}, where ${of} leads, ${faultText(incident)}. It has failed twice, first at ${since}.`,
  };
}

const faultTexts: Readonly<Record<string, string>> = {
  timeout: 'does not answer within 10 seconds',
  dns: 'has a host name that is not found',
  connect: 'cannot be connected to',
  tls: 'has a certificate that is not accepted',
  reset: 'closes the connection without an answer',
  protocol: 'gives no valid HTTP answer',
};

const faultText = ({ fault = 'unknown', status }: IncidentRecord): string =>
  status === undefined ? (faultTexts[fault] ?? 'fails') : `answers with status ${status}`;

/** `2026-11-26 14:03 UTC` */
export const timeText = (timeMs: number): string =>
  `${isoTime(timeMs).slice(0, 16).replace('T', ' ')} UTC`;
