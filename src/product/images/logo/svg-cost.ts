/**
 * Estimates the cost of drawing an uploaded SVG, because librsvg cannot be stopped once it has begun.
 *
 * The file is parsed as a tree. An element costs 1, or more by its kind; a reference (`use`, a mask, a clip
 * path, a filter) adds the cost of its target. A file of 30 lines, each repeating the line before twice, costs
 * 2^30 and is refused without being drawn. The unit is a small path, about 20 µs.
 *
 * Parsing is linear: every token ends at the next `<` or is found by `indexOf`.
 *
 * Refused without an estimate, because they multiply in ways this parser does not see and logos rarely need
 * them: patterns, markers, dashes (a dash of a thousandth of a pixel), images in images, most filters.
 */

/** Half a second. */
export const svgCostMax = 20_000;

/** A filter's step goes over all pixels, some of them several times. */
const filterStepCost = 1_000;
/** libxml reads no deeper either. */
const depthMax = 256;
/** An element with its own surface, which is cleared, drawn on and composited. */
const layerCost = 50;

const refused =
  /<(?:[\w-]+:)?(?:pattern|marker|image|feImage|foreignObject|feTurbulence|feMorphology|feConvolveMatrix|feDisplacementMap|feDiffuseLighting|feSpecularLighting|feTile|animate\w*|set)[\s>/]/i;
const harmlessDashes = /stroke-dasharray(?:="none"|: ?none)/gi;
const layered =
  /(?:^|[\s;{"'])(?:opacity|mix-blend-mode|isolation|mask|clip-path|filter)\s{0,9}[:=]/;
const classed = /\sclass\s{0,9}=/;
/** A `<` is written as an entity inside of values, so a tag ends before the next one. */
const tagPattern = /<(\/?)([A-Za-z_][\w:.-]*)((?:"[^"<]*"|'[^'<]*'|[^'"<>])*)>/y;
/** Markup that is not an element: its start and its end. */
const asides: ReadonlyArray<readonly [start: string, end: string]> = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
];

interface Element {
  readonly ownCost: number;
  readonly hasClass: boolean;
  readonly children: Element[];
  /** Ids of its targets. */
  readonly references: readonly string[];
  /** Undefined until computed; Infinity during the computation, so that cycles cost too much. */
  cost: number | undefined;
}

interface Tree {
  readonly root: Element;
  readonly byId: ReadonlyMap<string, Element>;
  /** Whether a style sheet may give every element with a class its own surface. */
  readonly isClassLayered: boolean;
}

/** In units of about 20 µs; Infinity for a refused element, a cycle, or a file that is not a tree. */
export function svgCost(text: string): number {
  if (refused.test(text)) return Infinity;
  if (/stroke-dasharray/i.test(text.replace(harmlessDashes, ''))) return Infinity;
  const tree = readTree(text);
  return tree === undefined ? Infinity : costOf(tree.root, tree);
}

function readTree(text: string): Tree | undefined {
  const root: Element = { ...elementOf('', ''), ownCost: 0 };
  const byId = new Map<string, Element>();
  const open = [root];
  let styles = '';
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    const aside = asides.find(([start]) => text.startsWith(start, at));
    if (aside !== undefined) {
      const end = text.indexOf(aside[1], at);
      if (end === -1) return undefined;
      at = end + aside[1].length;
      continue;
    }
    tagPattern.lastIndex = at;
    const [tag, slash, name = '', attributes = ''] = tagPattern.exec(text) ?? [];
    if (tag === undefined) return undefined;
    at += tag.length;
    if (slash === '/') {
      open.pop();
      if (open.length === 0) return undefined;
      continue;
    }
    const element = elementOf(name, attributes);
    open.at(-1)?.children.push(element);
    const id = /(?:^|\s)(?:xml:)?id\s{0,9}=\s{0,9}(["'])(.*?)\1/.exec(attributes)?.[2];
    if (id?.includes('&') === true) return undefined;
    if (id !== undefined) byId.set(id, element);
    if (attributes.endsWith('/')) continue;
    open.push(element);
    if (open.length > depthMax) return undefined;
    if (!/^(?:\w+:)?style$/i.test(name)) continue;
    const end = text.indexOf('</', at);
    styles += text.slice(at, end === -1 ? text.length : end);
  }
  // From a style sheet, a reference could reach any number of elements.
  if (open.length !== 1 || /url\s{0,9}\(/i.test(styles)) return undefined;
  return { root, byId, isClassLayered: layered.test(styles) };
}

function elementOf(name: string, attributes: string): Element {
  const references: string[] = [];
  for (const [, , id = ''] of attributes.matchAll(/href\s{0,9}=\s{0,9}(["'])\s{0,9}#(.*?)\1/g)) {
    references.push(id.trim());
  }
  for (const [, id = ''] of attributes.matchAll(
    /url\s{0,9}\(\s{0,9}(?:["']|&quot;|&apos;)?#([^"')&\s]{0,999})/gi,
  )) {
    references.push(id);
  }
  const isFilterStep = /^(?:\w+:)?fe[A-Z]/.test(name);
  const ownCost = isFilterStep ? filterStepCost : layered.test(attributes) ? layerCost : 1;
  const hasClass = classed.test(attributes);
  return { ownCost, hasClass, children: [], references, cost: undefined };
}

function costOf(element: Element, tree: Tree): number {
  if (element.cost !== undefined) return element.cost;
  element.cost = Infinity;
  const isLayer = element.hasClass && tree.isClassLayered;
  let cost = isLayer ? Math.max(layerCost, element.ownCost) : element.ownCost;
  for (const child of element.children) cost += costOf(child, tree);
  for (const id of element.references) {
    const target = tree.byId.get(id);
    if (target !== undefined) cost += costOf(target, tree);
  }
  element.cost = cost;
  return cost;
}
