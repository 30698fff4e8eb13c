/** The top of the page: project, navigation, connection, palette, theme. */
import { href, Link } from "../router";
import { chooseTheme, theme, type Theme } from "../theme";
import { ConnectionState } from "./connection";
import { Navigation } from "./nav";
import { openPalette } from "./palette";
import { ProjectName } from "./projects";

export function Header() {
  return (
    <header class="top">
      <Link to={href("/")} class="brand" aria-label="Dibs">
        <img src="/icon.svg" alt="" width="20" height="20" /> <span class="brand-name">Dibs</span>
      </Link>
      <ProjectName />
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

export function ThemeChoice() {
  return (
    <select class="theme" aria-label="Theme" value={theme.value} onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}>
      <option value="system">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
