/** Edits the query of an address as text. `URLSearchParams` would rewrite other parameters too (`%20` becomes `+`). */

/** An address in three parts: `https://e.co/a`, `?b=1`, `#c`. */
interface SplitAddress {
  readonly path: string;
  readonly query: string;
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

/** The raw parameters (`a=1`), without empty ones. @param query with or without its `?` */
export function parametersOf(query: string): string[] {
  const text = query.startsWith('?') ? query.slice(1) : query;
  return text.split('&').filter((parameter) => parameter !== '');
}

export const parameterName = (parameter: string): string => {
  const end = parameter.indexOf('=');
  return decodedOnce(end === -1 ? parameter : parameter.slice(0, end));
};

const parameterValue = (parameter: string): string => {
  const end = parameter.indexOf('=');
  return end === -1 ? '' : decodedOnce(parameter.slice(end + 1));
};

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

/** Rules ignore further parameters. */
const parametersMax = 64;

/** Alternating names and values, decoded once. */
export const queryPairs = (query: string): string[] =>
  parametersOf(query)
    .slice(0, parametersMax)
    .flatMap((parameter) => [parameterName(parameter), parameterValue(parameter)]);

const passedBytesMax = 1_024;
/** Excludes everything that could end a header, and `#`. */
const passable = /^[\x21\x22\x24-\x7e]+$/;

/**
 * The target with the short link's query appended, except for parameters that the target already has.
 * @param query raw, without its `?`; ignored when it is empty, too long or has other characters
 */
export function withPassedQuery(target: string, query: string): string {
  if (query.length > passedBytesMax || !passable.test(query)) return target;
  const address = splitAddress(target);
  const own = parametersOf(address.query);
  const names = new Set(own.map(parameterName));
  const passed = parametersOf(query).filter((one) => !names.has(parameterName(one)));
  return passed.length === 0 ? target : joinAddress(address, [...own, ...passed]);
}
