/** The supervisor: start the crew, limit it, pause it, and stop it; and the tasks that wait for an agent. */
import { useEffect, useRef, useState } from "preact/hooks";
import { api, type ApiError, asApiError, data, type Schemas } from "../../api/client";
import { useRights } from "../../api/rights";
import { href, Link } from "../../router";
import { act, ask, toast } from "../../ui/actions";
import { Badge, Panel, Problem, Show } from "../../ui/parts";
import { TaskName } from "../../ui/task";
import { visible } from "../../ui/text";
import { type Crew, useCrew } from "./data";

/** The numbers of agents that the slider offers. */
const FEWEST = 1;
const MOST = 20;
/** How many waiting tasks are listed for each reason. */
const LISTED = 8;
const EXAMPLE = `max_agents = 3

[roles.developer]
agent = "claude"
model = "opus"`;

export function SupervisorPanel() {
  const crew = useCrew();
  const badge = crew.data && (!crew.data.up ? <Badge>not up</Badge> : crew.data.paused ? <Badge tone="warn">paused</Badge> : <Badge tone="good">up</Badge>);
  return (
    <Panel title="Crew" class="supervisor" actions={badge}>
      <Show of={crew}>
        {(found) => (
          <>
            {found.up ? <Controls crew={found} refresh={crew.refresh} /> : <StartCrew refresh={crew.refresh} />}
            <Waiting waiting={found.waiting} />
          </>
        )}
      </Show>
    </Panel>
  );
}

type Part = { refresh: () => void };

function Why() {
  const { why } = useRights();
  return why ? (
    <p class="muted" id="crew-why">
      {why}
    </p>
  ) : null;
}

function StartCrew({ refresh }: Part) {
  const { human, why } = useRights();
  const [error, setError] = useState<ApiError | null>(null);
  const start = async () => {
    try {
      await api.POST("/api/v1/crew/up", { body: {} });
      setError(null);
      toast("the crew is up", "good");
      refresh();
    } catch (problem) {
      setError(asApiError(problem));
    }
  };
  return (
    <>
      <p class="muted">
        Dibs can run agents for you: it gives them the tasks on the <Link to={href("/board")}>board</Link> and starts them again after a crash.
      </p>
      <div class="buttons">
        <button type="button" class="primary" disabled={!human} aria-describedby={why && "crew-why"} onClick={start}>
          Start the crew
        </button>
      </div>
      <Why />
      {error && <Problem error={error} />}
      {error?.code === "CREW_CONFIG" && (
        <>
          <p>
            <code>crew.toml</code> says which agents there are. Five lines are enough:
          </p>
          <pre class="example" tabIndex={0} role="region" aria-label="An example of crew.toml">
            {EXAMPLE}
          </pre>
        </>
      )}
    </>
  );
}

function Controls({ crew, refresh }: Part & { crew: Crew }) {
  const { act: acts, human, why } = useRights();
  const described = why && "crew-why";
  const pause = async () => {
    const done = crew.paused ? "the crew goes on" : "the crew is paused: running tasks go on, no other one is assigned";
    await act(() => (crew.paused ? api.POST("/api/v1/crew/resume", { body: {} }) : api.POST("/api/v1/crew/pause", { body: {} })), done);
    refresh();
  };
  const apply = async () => {
    await act(() => api.POST("/api/v1/crew/up", { body: {} }), "crew.toml is in force");
    refresh();
  };
  const stop = () =>
    ask({
      title: "Stop all agents of the crew",
      text: "This ends the processes of every agent and subagent that Dibs runs, then releases their claims. Their work stays in their working trees, and unfinished tasks return to the board. No agent starts until you start the crew again.",
      fields: [{ name: "reason", label: "Reason" }],
      button: "Stop all",
      danger: true,
      run: ({ reason = "" }) => api.POST("/api/v1/crew/stop", { body: { agents: [], reason } }).then(refresh),
      done: "stopping all agents of the crew",
    });
  return (
    <>
      <div class="crew-controls">
        <LimitSlider limit={crew.limit} refresh={refresh} />
        <div class="buttons">
          <button type="button" class="primary" disabled={!acts} aria-describedby={described} onClick={() => void newAgent(crew, refresh)}>
            New agent
          </button>
          <button type="button" disabled={!human} aria-describedby={described} onClick={pause}>
            {crew.paused ? "Resume" : "Pause"}
          </button>
          <button type="button" disabled={!human} aria-describedby={described} title="Read crew.toml again, with its limit" onClick={apply}>
            Apply crew.toml
          </button>
          <button type="button" disabled={!human} aria-describedby={described} onClick={stop}>
            Stop all
          </button>
        </div>
      </div>
      <Why />
    </>
  );
}

async function newAgent({ roles }: Crew, refresh: () => void): Promise<void> {
  const { tasks } = await data(api.GET("/api/v1/tasks", { params: { query: { ready: true, limit: 200 } } })).catch(() => ({ tasks: [] as Schemas["task"][] }));
  ask({
    title: "New agent",
    fields: [
      { name: "role", label: "Role", required: true, choices: roles.map((one) => one.name) },
      { name: "task", label: "Task that it starts with", suggestions: (tasks as Schemas["task"][]).map((one) => ({ value: one.id, label: visible(one.title || one.id, 80) })) },
    ],
    button: "Start",
    run: ({ role = "", task = "" }) => api.POST("/api/v1/crew/spawn", { body: { role, task } }).then(refresh),
    done: "starting an agent",
  });
}

/** The limit, changed with a slider: one request at a time, and always one with the last value. */
function LimitSlider({ limit, refresh }: Part & { limit: number }) {
  const { human, why } = useRights();
  const [chosen, setChosen] = useState<number | null>(null);
  const wanted = useRef(limit);
  const busy = useRef(false);
  useEffect(() => {
    if (!busy.current) setChosen(null);
  }, [limit]);
  const send = async (value: number) => {
    wanted.current = value;
    if (busy.current) return;
    busy.current = true;
    let sent = 0;
    while (sent !== wanted.current) {
      sent = wanted.current;
      if (!(await act(() => api.POST("/api/v1/crew/limit", { body: { limit: sent } }), ""))) setChosen(null);
    }
    busy.current = false;
    refresh();
  };
  const shown = chosen ?? limit;
  return (
    <label class="limit">
      <span>
        At most <strong>{shown}</strong> {shown === 1 ? "agent" : "agents"}
      </span>
      <input
        type="range"
        min={FEWEST}
        max={MOST}
        value={shown}
        disabled={!human}
        aria-describedby={why && "crew-why"}
        onInput={(event) => setChosen(Number(event.currentTarget.value))}
        onChange={(event) => void send(Number(event.currentTarget.value))}
      />
    </label>
  );
}

function Waiting({ waiting }: { waiting: readonly Schemas["crew_wait"][] }) {
  if (!waiting.length) return null;
  const reasons = new Map<string, string[]>();
  for (const { task, why } of waiting) reasons.set(why, [...(reasons.get(why) ?? []), task]);
  return (
    <>
      <h3>
        Waiting tasks <span class="count">{waiting.length}</span>
      </h3>
      <ul class="rows waiting">
        {[...reasons].map(([why, tasks]) => (
          <li key={why}>
            <span>{visible(why)}:</span>
            {tasks.slice(0, LISTED).map((task) => (
              <TaskName key={task} id={task} />
            ))}
            {tasks.length > LISTED && <Link to={href("/board")}>and {tasks.length - LISTED} more</Link>}
          </li>
        ))}
      </ul>
    </>
  );
}
