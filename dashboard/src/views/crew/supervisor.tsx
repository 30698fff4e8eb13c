/** The supervisor's controls: they become active when Dibs runs the agents itself. */
import { api, data } from "../../api/client";
import { useResource } from "../../api/resource";
import { Panel } from "../../ui/parts";

const LIMIT = 5;

/** Return why Dibs cannot start, restart, or limit agents. */
export function useNoSupervisor(): string {
  const { data: found } = useResource("crew", () => data(api.GET("/api/v1/crew")), { on: [], every: 300 });
  return found?.why ?? "";
}

export function SupervisorPanel() {
  const why = useNoSupervisor();
  return (
    <Panel title="Start agents" class="supervisor">
      <div class="buttons">
        <button type="button" disabled aria-describedby="no-supervisor">
          Start an agent
        </button>
        <label>
          At most {LIMIT} agents
          <input type="range" min={1} max={20} value={LIMIT} disabled aria-describedby="no-supervisor" />
        </label>
      </div>
      <p class="muted" id="no-supervisor">
        {why}
      </p>
    </Panel>
  );
}
