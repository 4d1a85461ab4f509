/**
 * The query of an address as text: parameters are taken out and added without touching the bytes of the others, which
 * `URLSearchParams` would write anew (`%20` becomes `+`).
 */

/** An address in three pieces, each with its mark: `https://e.co/a`, `?b=1`, `#c`. */
export interface SplitAddress {
  readonly path: string;
  /** Empty, or from its `?` on. */
  readonly query: string;
  /** Empty, or from its `#` on. */
  readonly fragment: string;
}

export function splitAddress(address: string): SplitAddress {
  const hash = address.indexOf('#');
  const whole = hash === -1 ? address : address.slice(0, hash);
  const mark = whole.indexOf('?');
  return {
    path: mark === -1 ? whole : whole.slice(0, mark),
    query: mark === -1 ? '' : whole.slice(mark),
    fragment: hash === -1 ? '' : address.slice(hash),
  };
}

/** The parameters as they stand, `a=1`, without empty ones. @param query with or without its `?` */
export function parametersOf(query: string): string[] {
  const text = query.startsWith('?') ? query.slice(1) : query;
  return text.split('&').filter((parameter) => parameter !== '');
}

/** The name of a parameter, decoded once as a form's is. */
export const parameterName = (parameter: string): string => {
  const end = parameter.indexOf('=');
  return decodedOnce(end === -1 ? parameter : parameter.slice(0, end));
};

/** The value of a parameter, decoded once; empty without one. */
const parameterValue = (parameter: string): string => {
  const end = parameter.indexOf('=');
  return end === -1 ? '' : decodedOnce(parameter.slice(end + 1));
};

/** What is not encoded soundly stays as it is. */
function decodedOnce(text: string): string {
  if (!/[%+]/.test(text)) return text;
  const spaced = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

export function joinAddress(
  { path, fragment }: SplitAddress,
  parameters: readonly string[],
): string {
  return path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`) + fragment;
}

/** Parameters of a query that rules are compared with; the rest is passed over. */
const parametersMax = 64;

/** Names and values, decoded once, in turns. */
export const queryPairs = (query: string): string[] =>
  parametersOf(query)
    .slice(0, parametersMax)
    .flatMap((parameter) => [parameterName(parameter), parameterValue(parameter)]);

const passedBytesMax = 1_024;
/** Nothing that could end a header, and no fragment. */
const passable = /^[\x21\x22\x24-\x7e]+$/;

/**
 * The target with the short link's own query behind its own, but for parameters that it has already.
 * @param query raw, without its `?`; one that is empty, too long or has other characters is not passed
 */
export function withPassedQuery(target: string, query: string): string {
  if (query.length > passedBytesMax || !passable.test(query)) return target;
  const address = splitAddress(target);
  const own = parametersOf(address.query);
  const names = new Set(own.map(parameterName));
  const passed = parametersOf(query).filter((one) => !names.has(parameterName(one)));
  return passed.length === 0 ? target : joinAddress(address, [...own, ...passed]);
}
