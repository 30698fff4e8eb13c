/** The first line: how the crew and its store are doing, in numbers. */
import { api, ApiError, data, type Agent, type Answer, type Status } from "../../api/client";
import { type Points, Sparkline } from "../../charts";
import { connection } from "../../api/live";
import { useResource } from "../../api/resource";
import { href, Link } from "../../router";
import { now } from "../../time";
import { SILENT } from "./model";

type Health = Answer<"/api/v1/health">;
type Tone = "" | "warn" | "bad" | "good";
type Fact = { label: string; value: string; note?: string; tone?: Tone; to?: string; past?: Points };

const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);

export function HealthLine(props: { status: Status; waiting: number; alerts: number; critical: boolean; live: boolean }) {
  const { status, waiting, alerts, critical, live } = props;
  const agents = status.agents.filter((one) => one.role !== "human");
  const { pending } = status.decisions;
  const past = usePast(live);
  const facts: Fact[] = [
    { label: plural(agents.length, "agent"), value: `${agents.length}`, note: crewNote(agents), to: href("/crew") },
    { label: plural(status.claims.length, "claim"), value: `${status.claims.length}`, note: "held now", to: href("/files"), past: past.held },
    { label: "waiting", value: `${waiting}`, note: waiting ? "for a claim" : "no one waits", tone: waiting ? "warn" : "good", past: past.waiting },
  ];
  if (live)
    facts.push(
      { label: plural(alerts, "alert"), value: `${alerts}`, note: critical ? "critical" : "open", tone: critical ? "bad" : alerts ? "warn" : "good" },
      { label: plural(pending, "decision"), value: `${pending}`, note: "pending", tone: pending ? "warn" : "good", to: href("/inbox") },
    );
  return (
    <ul class="health" aria-label="Health">
      {facts.map((fact) => (
        <FactTile key={fact.note} {...fact} />
      ))}
      {live && <StoreTile />}
    </ul>
  );
}

/** Say how many agents work, are idle, or have been silent for a while. */
function crewNote(agents: readonly Agent[]): string {
  const counts = { working: 0, idle: 0, silent: 0 };
  for (const { status, last_seen } of agents) counts[now.value - last_seen >= SILENT ? "silent" : status === "running" ? "working" : "idle"]++;
  const { working, idle, silent } = counts;
  return [`${working} working`, idle && `${idle} idle`, silent && `${silent} silent`].filter(Boolean).join(", ");
}

/** Return how many claims were held and waited for in the last hour. */
function usePast(live: boolean): { held?: Points; waiting?: Points } {
  const load = async () => (await data(api.GET("/api/v1/timeline", { params: { query: { since: "1h", limit: 1 } } }))).series;
  const { data: found } = useResource(live ? "now past" : "no past", async () => (live ? load() : null), { on: [], every: 20 });
  if (!found) return {};
  const points = (values: readonly number[]): Points => values.map((value, index) => [found.begin + index * found.step, value]);
  return { held: points(found.held), waiting: points(found.waiting) };
}

function FactTile({ label, value, note, tone = "", to, past }: Fact) {
  const text = (
    <>
      <strong>{value}</strong> <span>{label}</span>
      {past?.some(([, count]) => count) && <Sparkline label={`${label} in the last hour`} points={past} width={72} />}
      <small class="muted">{note}</small>
    </>
  );
  return <li class={tone}>{to ? <Link to={to}>{text}</Link> : <div>{text}</div>}</li>;
}

function StoreTile() {
  const { data: found, error } = useResource("health", loadHealth, { on: ["store", "ledger"], every: 15 });
  const wrong = error ? [error.message] : problemsOf(found);
  const state = connection.value.state;
  const live = state === "live";
  const note = wrong.length ? wrong.join(", ") : live ? "live" : state === "behind" ? "answers late" : "not connected";
  return <FactTile label="store" value={wrong.length ? "Failing" : found ? "Healthy" : "…"} note={note} tone={wrong.length ? "bad" : live ? "good" : "warn"} to={href("/settings")} />;
}

/** An unhealthy server answers with status 503 and the same shape. */
async function loadHealth(): Promise<Health> {
  try {
    return await data(api.GET("/api/v1/health"));
  } catch (error) {
    if (error instanceof ApiError && error.status === 503) return { ...BROKEN };
    throw error;
  }
}

const BROKEN: Health = { ok: false, version: "", pid: 0, started: 0, parts: {}, projects: [] };

function problemsOf(health: Health | undefined): string[] {
  if (!health || health.ok) return [];
  const found = health.projects.filter((one) => !one.ok).map((one) => one.why);
  return found.length ? found : ["run: dibs serve status"];
}
