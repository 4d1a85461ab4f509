/** The passwords that attackers try first: 6 MB and 25 ms, so it is imported where one is chosen. */
import { dictionary } from '@zxcvbn-ts/language-common';

export const commonPasswords: readonly string[] = dictionary.passwords;
