/** Draw a component again only if one of its properties changed. */
import { Component, type ComponentType, createElement } from "preact";

export function memo<P extends object>(Inner: ComponentType<P>): ComponentType<P> {
  return class extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const before = this.props as Record<string, unknown>;
      const after = next as Record<string, unknown>;
      for (const key in after) if (after[key] !== before[key]) return true;
      return false;
    }
    override render() {
      return createElement(Inner, this.props as P);
    }
  };
}
