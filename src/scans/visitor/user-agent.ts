/** The bound of a user agent's text: what is longer is read, hashed and kept by its first part. */

/** No real agent needs more, and every pattern's work and every cache's memory is bounded by it. */
export const userAgentCharactersMax = 512;

/** The first 512 characters, as a copy: a slice would keep the whole text alive as a cache's key. */
export function cutUserAgent(userAgent: string): string {
  if (userAgent.length <= userAgentCharactersMax) return userAgent;
  const text = userAgent.slice(0, userAgentCharactersMax);
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
