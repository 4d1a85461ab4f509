/**
 * Finds the route of a method and a path in a tree of path segments. A path that exists under another method (405)
 * differs from a path that does not exist (404).
 */
import type { Method, Route } from './route.ts';

interface Node {
  readonly literals: Map<string, Node>;
  parameter: { readonly name: string; readonly node: Node } | undefined;
  readonly routes: Map<Method, Route>;
}

export interface RouteMatch {
  readonly kind: 'route';
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

export type Match =
  | RouteMatch
  | { readonly kind: 'other_method'; readonly allow: string }
  | { readonly kind: 'none' };

/** More than any route has. */
const segmentsMax = 8;

export class Router {
  readonly #root = createNode();

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.#add(route);
  }

  /** @param path below /v1, as sent; HEAD finds the route of GET */
  match(method: string, path: string): Match {
    const segments = path.split('/');
    if (segments.length > segmentsMax) return { kind: 'none' };
    const params: Record<string, string> = {};
    let node: Node | undefined = this.#root;
    for (const segment of segments.slice(1)) {
      node = step(node, segment, params);
      if (node === undefined) return { kind: 'none' };
    }
    if (node.routes.size === 0) return { kind: 'none' };
    const wanted = method === 'HEAD' ? 'GET' : method;
    for (const [known, route] of node.routes) {
      if (known === wanted) return { kind: 'route', route, params };
    }
    return { kind: 'other_method', allow: allowOf(node) };
  }

  #add(route: Route): void {
    let node = this.#root;
    for (const segment of route.path.split('/').slice(1)) node = grow(node, segment);
    if (node.routes.has(route.method)) {
      throw new Error(`Cannot add ${route.method} ${route.path}: it exists`);
    }
    node.routes.set(route.method, route);
  }
}

function createNode(): Node {
  return { literals: new Map(), parameter: undefined, routes: new Map() };
}

function grow(node: Node, segment: string): Node {
  if (segment.startsWith(':')) {
    node.parameter ??= { name: segment.slice(1), node: createNode() };
    return node.parameter.node;
  }
  const known = node.literals.get(segment);
  if (known !== undefined) return known;
  const created = createNode();
  node.literals.set(segment, created);
  return created;
}

function step(node: Node, segment: string, params: Record<string, string>): Node | undefined {
  const literal = node.literals.get(segment);
  if (literal !== undefined) return literal;
  if (node.parameter === undefined || segment === '') return undefined;
  params[node.parameter.name] = segment;
  return node.parameter.node;
}

function allowOf(node: Node): string {
  const methods = [...node.routes.keys()].flatMap((method) =>
    method === 'GET' ? ['GET', 'HEAD'] : [method],
  );
  return methods.join(', ');
}
