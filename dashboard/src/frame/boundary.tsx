/** A broken view shows what went wrong; the rest of the page keeps working. */
import { Component, type ComponentChildren } from "preact";

type Props = { children: ComponentChildren };

export class Boundary extends Component<Props, { error: Error | null }> {
  state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  componentDidCatch(error: Error): void {
    console.error(error);
  }

  render({ children }: Props, { error }: { error: Error | null }) {
    if (!error) return children;
    return (
      <div class="problem" role="alert">
        <strong>This view has an error: {error.message}</strong>
        <p>The other views work. Please report it.</p>
        <button type="button" onClick={() => this.setState({ error: null })}>
          Try again
        </button>
      </div>
    );
  }
}
