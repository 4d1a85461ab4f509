/** The standard texts of pages: by language, then by kind. Written as a shop writes to the people who come to it. */
import { de } from './texts/de.ts';
import { en } from './texts/en.ts';
import { es } from './texts/es.ts';
import { fr } from './texts/fr.ts';
import { it } from './texts/it.ts';
import { ja } from './texts/ja.ts';
import { nl } from './texts/nl.ts';
import { pl } from './texts/pl.ts';
import { pt } from './texts/pt.ts';
import { tr } from './texts/tr.ts';
import type { LanguageWords } from './language-words.ts';

const words = { en, de, fr, es, it, pt, nl, pl, tr, ja } as const;
export type PageLanguage = keyof typeof words;
export const pageLanguages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'ja'] as const;

export const wordsOf = (language: PageLanguage): LanguageWords => words[language];
