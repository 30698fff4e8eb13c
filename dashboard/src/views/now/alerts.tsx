/** Open alerts: what is wrong, since when, and what to do. */
import { api, data, type Answer } from "../../api/client";
import { type Loaded, useResource } from "../../api/resource";
import { useRights } from "../../api/rights";
import { act } from "../../ui/actions";
import { AgentName, Age, Badge, Panel, Show } from "../../ui/parts";

type Alerts = Answer<"/api/v1/alerts">;
export type Alert = Alerts["alerts"][number];

const SHOWN = 20;
const ORDER = ["critical", "warning", "info"];
const TONES: Record<string, "bad" | "warn" | "info"> = { critical: "bad", warning: "warn", info: "info" };

export function useAlerts(): Loaded<Alerts> {
  return useResource("alerts", () => data(api.GET("/api/v1/alerts", { params: { query: { limit: 200 } } })), { on: ["alert"], every: 30 });
}

export function AlertsPanel({ of }: { of: Loaded<Alerts> }) {
  const { act: acts } = useRights();
  const alerts = [...(of.data?.alerts ?? [])].sort((a, b) => rank(a) - rank(b) || b.at - a.at);
  return (
    <Panel title="Alerts" count={alerts.length}>
      <Show of={of}>
        {() =>
          alerts.length ? (
            <ul class="rows alerts">
              {alerts.slice(0, SHOWN).map((alert) => (
                <AlertRow key={alert.id} alert={alert} acts={acts} />
              ))}
              {alerts.length > SHOWN && <li class="muted">and {alerts.length - SHOWN} more: dibs alerts</li>}
            </ul>
          ) : (
            <p class="muted">Nothing needs attention.</p>
          )
        }
      </Show>
    </Panel>
  );
}

function rank(alert: Alert): number {
  return ORDER.indexOf(alert.severity) + (alert.state === "open" ? 0 : 10);
}

function AlertRow({ alert, acts }: { alert: Alert; acts: boolean }) {
  const params = { path: { id: alert.id } };
  return (
    <li>
      <p>
        <Badge tone={TONES[alert.severity] ?? "neutral"}>{alert.severity}</Badge> {alert.text}
      </p>
      <p class="muted small-text">
        <Age at={alert.at} />
        {alert.state === "acknowledged" && <> · acknowledged by {alert.by}</>}
      </p>
      {alert.command && <code class="hint">{alert.command}</code>}
      {acts && (
        <p class="buttons">
          {alert.state === "open" && (
            <button type="button" class="small" onClick={() => act(() => api.POST("/api/v1/alerts/{id}/ack", { params, body: {} }), "alert acknowledged")}>
              Acknowledge
            </button>
          )}
          {alert.agents.map((agent) => (
            <AgentName key={agent} id={agent} />
          ))}
        </p>
      )}
    </li>
  );
}
