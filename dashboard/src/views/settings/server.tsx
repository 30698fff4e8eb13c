/** The server: its health, what it does regularly, and the handlers of events. */
import { ApiError, api, type Answer, data, noAnswer } from "../../api/client";
import { useResource } from "../../api/resource";
import { span } from "../../time";
import { Age, Badge, Panel, Show } from "../../ui/parts";
import { counted } from "../../ui/text";
import { found } from ".";

type Health = Answer<"/api/v1/health">;

/** Return the health; the server answers 503 with the same content if something is wrong. */
async function loadHealth(): Promise<Health> {
  const answer = await fetch("/api/v1/health").catch((error) => {
    throw noAnswer(error);
  });
  const body = await answer.json();
  if (body.error) throw new ApiError(answer.status, body.error.code, body.error.message, body.error.hint ?? "", "");
  return body as Health;
}

export function ServerPanels() {
  const health = useResource("server health", loadHealth, { on: [], every: 15 });
  const jobs = useResource("jobs", () => data(api.GET("/api/v1/jobs", { params: { query: { limit: 1000 } } })), { on: [], every: 15 });
  const handlers = useResource("handlers", () => data(api.GET("/api/v1/handlers")), { on: [], every: 15 });
  return (
    <>
      <Panel title="Server">
        <Show of={health}>
          {(shown) => (
            <>
              <p class="engine-head">
                <Badge tone={shown.ok ? "good" : "bad"}>{shown.ok ? "healthy" : "not healthy"}</Badge> version {shown.version}, process {shown.pid}, started{" "}
                <Age at={shown.started} />
              </p>
              <ul class="rows">
                {shown.projects.map((one) => (
                  <li key={one.id}>
                    <Badge tone={one.ok ? "good" : "bad"}>{one.ok ? "ok" : one.why}</Badge> <strong>{one.name}</strong> <span class="path muted">{one.root}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </Show>
      </Panel>
      <Panel title="Jobs" count={jobs.data?.jobs.length}>
        <Show of={jobs}>
          {({ jobs: every }) => (
            <ul class="rows">
              {every
                .filter((one) => found(one.name, one.last_error, one.project))
                .map((one) => (
                  <li key={one.id} class="guard-row">
                    <strong>{one.name}</strong> <span class="muted">{one.project}</span>
                    <Badge tone={one.last_error || one.hangs ? "bad" : "good"}>{one.hangs ? "hangs" : one.last_error ? "failed" : one.running ? "running" : "ok"}</Badge>
                    <span class="muted">
                      every {span(one.every)} · {counted(one.runs, "run")}, {counted(one.failures, "failure")}
                      {one.last_run && (
                        <>
                          {" "}
                          · last run <Age at={one.last_run} />
                        </>
                      )}
                    </span>
                    {one.last_error && <span class="urgent">{one.last_error}</span>}
                  </li>
                ))}
            </ul>
          )}
        </Show>
      </Panel>
      <Panel title="Handlers of events" count={handlers.data?.handlers.length}>
        <Show of={handlers}>
          {({ handlers: every }) => (
            <ul class="rows">
              {every
                .filter((one) => found(one.name, one.runs, one.source, one.events.join(" ")))
                .map((one) => (
                  <li key={one.name} class="guard-row">
                    <strong>{one.name}</strong> <Badge tone={one.failing ? "bad" : "good"}>{one.failing ? "fails" : one.state}</Badge>
                    <span class="muted">
                      {one.source}: {one.runs} · on {one.events.join(", ")} · {one.handled} handled, {one.waiting} waiting
                    </span>
                    {(one.failing || one.reason) && <span class="urgent">{one.failing || one.reason}</span>}
                  </li>
                ))}
            </ul>
          )}
        </Show>
      </Panel>
    </>
  );
}
