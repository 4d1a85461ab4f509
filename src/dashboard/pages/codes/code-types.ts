/** Labels of the types of codes. */
import { codeTypes, type CodeType } from '../../../model/code.ts';

const codeTypeLabels: Readonly<Record<CodeType, string>> = {
  url: 'Web address',
  text: 'Text',
  email: 'E-mail',
  phone: 'Phone number',
  sms: 'Text message',
  wifi: 'Wi-Fi',
  vcard: 'Contact',
  geo: 'Place',
};

export const codeTypeOptions = codeTypes.map((value) => ({ value, label: codeTypeLabels[value] }));

export const typeLabel = (type: string): string =>
  codeTypeOptions.find(({ value }) => value === type)?.label ?? type;
