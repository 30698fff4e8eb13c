/** The projects of the server: the page shows one, and asks which one if the address does not say. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { type Answer, api, data } from "../api/client";
import { connection } from "../api/live";
import { type Loaded, useResource } from "../api/resource";
import { Link, navigate, param, path, setParams } from "../router";
import { Empty, Problem } from "../ui/parts";
import { counted } from "../ui/text";

type Project = Answer<"/api/v1/projects">["projects"][number];

function useProjects(): Loaded<Project[]> {
  const load = async () => (await data(api.GET("/api/v1/projects", { params: { query: { limit: 256 } } }))).projects;
  return useResource("projects", load, { on: [], every: 60, shared: true });
}

/** Return the project that the address names; like the server, refuse an ambiguous name. */
function named(projects: readonly Project[]): Project | undefined {
  const found = projects.filter((one) => [one.id, one.name, one.root].includes(param("project")));
  return found.length === 1 ? found[0] : undefined;
}

/** Show the page of the project in the address, or the choice; requests for no project would be refused. */
export function WithProject({ children }: { children: ComponentChildren }) {
  const { data: projects, error, refresh } = useProjects();
  const only = projects?.length === 1 && !param("project") ? projects[0]?.id : undefined;
  const lost = connection.value.state === "offline" && connection.value;
  useLayoutEffect(() => {
    if (only) setParams({ project: only });
  }, [only]);
  useEffect(() => {
    if (lost) refresh(); // the server may be another one, without this project
  }, [lost]);
  if (!projects || only) return <main id="main">{error ? <Problem error={error} /> : <p class="muted loading">Loading…</p>}</main>;
  return named(projects) ? <>{children}</> : <Choice projects={projects} />;
}

function Choice({ projects }: { projects: readonly Project[] }) {
  useEffect(() => {
    document.title = "Dibs";
  }, []);
  if (!projects.length)
    return (
      <main id="main">
        <h1 class="visually-hidden">No project</h1>
        <Empty title="This server has no project" command="dibs open">
          To add one, run this in a repository:
        </Empty>
      </main>
    );
  const missing = param("project");
  return (
    <main id="main" class="project-choice">
      <img src="/icon.svg" alt="Dibs" width="36" height="36" />
      <h1>Which project?</h1>
      <p class="muted">
        {missing ? `There is no project “${missing}” here. ` : ""}This server has {counted(projects.length, "project")}:
      </p>
      <ul class="panel rows">
        {projects.map((one) => (
          <li key={one.id}>
            <Link to={addressOf(one)}>
              <strong>{one.name}</strong>
              <span class="path muted">{one.root}</span>
            </Link>
          </li>
        ))}
      </ul>
    </main>
  );
}

/** Return the address of this view for a project; filters stay. */
function addressOf(project: Project): string {
  const query = new URLSearchParams(location.search);
  query.set("project", project.id);
  return `${path.value}?${query}`;
}

/** The project's name in the header, or a choice if the server has several. */
export function ProjectName() {
  const projects = useProjects().data ?? [];
  const current = named(projects);
  if (!current) return null;
  if (projects.length === 1)
    return (
      <span class="project" title={current.root}>
        {current.name}
      </span>
    );
  const choose = (id: string) => navigate(`${path.value}?project=${encodeURIComponent(id)}`);
  return (
    <select class="project" aria-label="Project" value={current.id} onChange={(event) => choose(event.currentTarget.value)}>
      {projects.map((one) => (
        <option key={one.id} value={one.id} title={one.root}>
          {one.name}
        </option>
      ))}
    </select>
  );
}
