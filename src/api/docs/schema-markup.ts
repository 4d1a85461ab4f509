/**
 * Fields of the OpenAPI document as rows of the reference page. The fields of an object are folded below
 * it, so that a row fits a phone, and each field has its own address:
 *
 *   createQrCode.body.design   object Design or null        What the image looks like…
 *                                > Design: 10 fields
 *                                    createQrCode.body.design.logo   string, at most…
 */
import { escapeHtml } from '../../model/text.ts';
import type { OpenApi } from '../openapi/document.ts';
import { isReference, nameOf, resolve, type Schema } from '../openapi/read.ts';
import { inline } from './markdown.ts';

/** Levels of nested objects; no object of the document is deeper. */
const depthMax = 5;
/** A longer pattern, or one over code points, is only in the document. */
const patternLengthMax = 48;

export interface Field {
  readonly name: string;
  readonly isRequired: boolean;
  readonly schema: Schema;
  readonly description?: string | undefined;
}

/** A field on the page. */
export interface ShownField {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  /** Its description, in Markdown. */
  readonly text: string;
}

/** The rows of one page. The fields of a component are shown at its first use; other uses link there. */
export class FieldMarkup {
  readonly document: OpenApi;
  /** Address of the first place by component. */
  readonly #first = new Map<string, string>();
  readonly shown: ShownField[] = [];

  constructor(document: OpenApi) {
    this.document = document;
  }

  /** @param place prefix of the rows' addresses */
  rows(fields: readonly Field[], place: string, depth = 1): string {
    const rows = fields.map(({ name, isRequired, schema, description }) => {
      const id = escapeHtml(`${place}.${name}`);
      const described = description ?? schema.description;
      const text = described ?? resolve(this.document, schema).description ?? '';
      const must = isRequired ? ' <span class="must">required</span>' : '';
      const type = typeText(this.document, schema);
      this.shown.push({ id: `${place}.${name}`, name, type, text });
      const inner = depth < depthMax ? this.#inner(schema, `${place}.${name}`, depth) : '';
      return `<div id="${id}"><div><code>${escapeHtml(name)}</code>${must}
<span>${escapeHtml(type)}</span></div><div>${inline(text)}${inner}</div></div>`;
    });
    return `<div class="fields">${rows.join('\n')}</div>`;
  }

  /** The fields of an answer, folded. */
  folded(schema: Schema, place: string, depth = 0): string {
    const name = isReference(schema) ? nameOf(schema) : '';
    const first = this.#first.get(name);
    if (first !== undefined) {
      return `<p class="soft">Fields of ${escapeHtml(name)}: <a href="#${escapeHtml(first)}">see there</a>.</p>`;
    }
    const fields = fieldsOf(this.document, schema);
    if (fields.length === 0) return '';
    if (name !== '') this.#first.set(name, `${place}.${fields[0]?.name ?? ''}`);
    const count = fields.length === 1 ? 'one field' : `${fields.length} fields`;
    const title = name === '' ? count : `${name}: ${count}`;
    return `<details><summary>${escapeHtml(title)}</summary>${this.rows(fields, place, depth + 1)}</details>`;
  }

  /** The fields of an object, of the objects of a list, or of each alternative. */
  #inner(schema: Schema, place: string, depth: number): string {
    const { items, anyOf, oneOf } = resolve(this.document, schema);
    if (items !== undefined) return this.#inner(items, place, depth);
    const alternatives = (anyOf ?? oneOf ?? []).filter((one) => isReference(one) || one.items);
    if (alternatives.length === 0) return this.folded(schema, place, depth);
    const isOne = alternatives.length === 1;
    const parts = alternatives.map((one) =>
      this.#inner(one, isReference(one) && !isOne ? `${place}.${nameOf(one)}` : place, depth),
    );
    return parts.join('');
  }
}

/** The fields of an object; empty for other types. */
export function fieldsOf(document: OpenApi, schema: Schema): Field[] {
  const { properties = {}, required = [] } = resolve(document, schema);
  return Object.entries(properties).map(([name, part]) => ({
    name,
    isRequired: required.includes(name),
    schema: part,
  }));
}

function typeText(document: OpenApi, schema: Schema): string {
  const whole = resolve(document, schema);
  const alternatives = whole.anyOf ?? whole.oneOf;
  if (alternatives !== undefined) {
    return [...new Set(alternatives.map((one) => typeText(document, one)))].join(' or ');
  }
  if (whole.const !== undefined) return JSON.stringify(whole.const);
  if (whole.enum !== undefined) {
    return `${whole.enum.map(String).join(' | ')}${defaultText(whole.default)}`;
  }
  const names = [whole.type ?? 'any'].flat().map((type) => {
    if (type === 'array') return listText(document, whole.items);
    if (type === 'object') return isReference(schema) ? `object ${nameOf(schema)}` : 'object';
    return type === 'string' ? (whole.format ?? type) : type;
  });
  const { pattern = '', minItems, maxItems } = whole;
  const isShown = pattern !== '' && pattern.length <= patternLengthMax && !pattern.includes('\\u');
  const form = isShown ? `, ${pattern}` : '';
  return [
    names.join(' or '),
    bounds(whole.minimum, whole.maximum, ''),
    bounds(whole.minLength, whole.maxLength, ' characters'),
    bounds(minItems, maxItems, ' items'),
    form,
    defaultText(whole.default),
  ].join('');
}

function listText(document: OpenApi, items: Schema | undefined): string {
  return items === undefined ? 'list' : `list of ${typeText(document, items)}`;
}

function bounds(least: number | undefined, most: number | undefined, unit: string): string {
  const [from, to] = [least, most].map((bound) => bound?.toLocaleString('en'));
  if (to === undefined) return from === undefined || least === 0 ? '' : `, at least ${from}${unit}`;
  return from === undefined ? `, at most ${to}${unit}` : `, ${from} to ${to}${unit}`;
}

function defaultText(value: unknown): string {
  return value === undefined ? '' : `, default ${JSON.stringify(value)}`;
}
