/** The top of the page: project, navigation, connection, palette, theme. */
import { useEffect } from "preact/hooks";
import { api, data } from "../api/client";
import { useResource } from "../api/resource";
import { href, Link, navigate, param, path } from "../router";
import { chooseTheme, theme, type Theme } from "../theme";
import { ConnectionState } from "./connection";
import { Navigation } from "./nav";
import { openPalette } from "./palette";

export function Header() {
  return (
    <header class="top">
      <Link to={href("/")} class="brand" aria-label="Dibs">
        <img src="/icon.svg" alt="" width="20" height="20" /> <span class="brand-name">Dibs</span>
      </Link>
      <Project />
      <Navigation />
      <ConnectionState />
      <button type="button" class="find" onClick={openPalette} title="Go to anything (Ctrl+K)" aria-keyshortcuts="Control+K Meta+K">
        <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
          <circle cx="7" cy="7" r="4.5" fill="none" stroke="currentColor" stroke-width="1.6" />
          <path d="M10.5 10.5 14.5 14.5" stroke="currentColor" stroke-width="1.6" />
        </svg>
        <span class="find-name">Go to</span> <kbd>Ctrl K</kbd>
      </button>
      <ThemeChoice />
    </header>
  );
}

const LAST = "dibs.project";

/** The project's name, or a choice if the server has several. */
function Project() {
  const { data: found } = useResource("projects", () => data(api.GET("/api/v1/projects", { params: { query: { limit: 256 } } })), { on: [], every: 60 });
  const projects = found?.projects ?? [];
  const chosen = param("project");
  const current = projects.find((one) => [one.id, one.name, one.root].includes(chosen)) ?? (chosen ? undefined : projects[0]);
  const ambiguous = !chosen && projects.length > 1;
  useEffect(() => {
    // Every request needs a project if there are several: use the last one of this browser, or the first.
    if (!ambiguous) return;
    const last = localStorage.getItem(LAST);
    const one = projects.find(({ id }) => id === last) ?? projects[0];
    if (one) navigate(href(path.value, { ...Object.fromEntries(new URLSearchParams(location.search)), project: one.id }), { replace: true });
  }, [ambiguous]);
  useEffect(() => {
    if (current && chosen) localStorage.setItem(LAST, current.id);
  }, [current?.id]);
  if (!found) return null;
  if (projects.length < 2 && current)
    return (
      <span class="project" title={current.root}>
        {current.name}
      </span>
    );
  return (
    <select class="project" aria-label="Project" value={current?.id ?? ""} onChange={(event) => navigate(`${path.value}?project=${encodeURIComponent(event.currentTarget.value)}`)}>
      {!current && <option value="">no such project</option>}
      {projects.map((one) => (
        <option key={one.id} value={one.id} title={one.root}>
          {one.name}
        </option>
      ))}
    </select>
  );
}

export function ThemeChoice() {
  return (
    <select class="theme" aria-label="Theme" value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
      <option value="system">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
