/** Languages to choose from; the API takes any other too. */
const offered = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pt',
  'nl',
  'pl',
  'tr',
  'ja',
  'ar',
  'bg',
  'ca',
  'cs',
  'da',
  'el',
  'fi',
  'he',
  'hr',
  'hu',
  'id',
  'ko',
  'nb',
  'pt-BR',
  'ro',
  'ru',
  'sk',
  'sl',
  'sv',
  'th',
  'uk',
  'vi',
  'zh-Hans',
  'zh-Hant',
];

const names = new Intl.DisplayNames('en', { type: 'language' });

/** @param own languages with a text: they say so */
export function languageOptions(own: readonly string[]) {
  const all = [...new Set([...offered, ...own])];
  return all.map((value) => {
    const name = names.of(value) ?? value;
    return { value, label: own.includes(value) ? `${name} · your text` : name };
  });
}
