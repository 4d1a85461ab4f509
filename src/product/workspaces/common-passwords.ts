/** The passwords that attackers try first: 6 MB and 25 ms, so it is loaded only when a person chooses a password. */
import { dictionary } from '@zxcvbn-ts/language-common';

export const commonPasswords: readonly string[] = dictionary.passwords;
