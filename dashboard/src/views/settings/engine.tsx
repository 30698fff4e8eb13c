/** The store: what it guarantees, and how fast it answers. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { Badge, Panel, Show } from "../../ui/parts";
import { type Finding, Findings } from "./findings";

const NAMES: Record<string, string> = { transaction_ms: "a change takes", view_ms: "a read takes" };

export function EnginePanel() {
  const engine = useResource("engine", () => data(api.GET("/api/v1/engine")), { on: ["store"], every: 120 });
  return (
    <Panel title="Store">
      <Show of={engine}>
        {(shown) => (
          <>
            <p class="engine-head">
              <strong>{shown.engine}</strong> <Badge tone={shown.safe ? "good" : "bad"}>{shown.safe ? "safe to use" : "not safe to use"}</Badge>
              {Object.entries(shown.measured as Record<string, unknown>)
                .filter(([, value]) => typeof value === "number")
                .map(([name, value]) => (
                  <span key={name} class="muted">
                    {NAMES[name] ?? name} {String(value)} {name.endsWith("_ms") ? "ms" : ""}
                  </span>
                ))}
            </p>
            <Findings findings={shown.findings as Finding[]} />
            <p class="muted">
              To check or change it, run <code>dibs engine check</code> or <code>dibs engine use</code>.
            </p>
          </>
        )}
      </Show>
    </Panel>
  );
}
