/** Which node leads, as each says in its metrics. */
import { pause } from '../../support/process.ts';
import type { ServiceNode } from './node.ts';

const betweenMs = 200;

export class RoleWatch {
  readonly #ended: Promise<unknown>;
  #isOn = true;

  constructor(nodes: readonly ServiceNode[], note: (line: string) => void) {
    this.#ended = Promise.all(nodes.map((node) => this.#watch(node, note)));
  }

  async close(): Promise<void> {
    this.#isOn = false;
    await this.#ended;
  }

  async #watch(node: ServiceNode, note: (line: string) => void): Promise<void> {
    while (this.#isOn) {
      const text = await node.metrics();
      const isActive = /^quietzone_cluster_role\{.*role="active".*\} 1$/m.test(text);
      if (isActive !== node.isActive) note(`${node.name} ${isActive ? 'leads' : 'leads no more'}`);
      node.isActive = isActive;
      await pause(betweenMs);
    }
  }
}
