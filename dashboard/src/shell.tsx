/** The frame of every view. */
import { useEffect, useRef } from "preact/hooks";
import { connect, connection, disconnect } from "./api/live";
import { useMe } from "./api/rights";
import { Boundary } from "./frame/boundary";
import { Banner } from "./frame/connection";
import { Header } from "./frame/header";
import { KeysDialog, useKeys } from "./frame/keys";
import { Palette } from "./frame/palette";
import { WithProject } from "./frame/projects";
import { param, path } from "./router";
import { ActionDialog, Toasts } from "./ui/actions";
import { Notices } from "./ui/notices";
import { Empty, Problem } from "./ui/parts";
import { ReplayBar } from "./ui/replay";
import { VIEWS } from "./views";

/** Everything, once the browser is known to be signed in: a stale session costs one request, not twenty. */
export function Shell() {
  const me = useMe();
  if (connection.value.state === "signed-out") return <SignedOut />;
  if (me.data)
    return (
      <WithProject>
        <Frame />
      </WithProject>
    );
  return <main id="main">{me.error ? <Problem error={me.error} /> : <p class="muted loading">Loading…</p>}</main>;
}

function Frame() {
  const project = param("project");
  useEffect(() => {
    connect();
    return disconnect;
  }, [project]);
  useKeys();
  const view = VIEWS.find((one) => one.path === path.value);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  useEffect(() => {
    document.title = view ? `${view.name} - Dibs` : "Dibs";
    if (!first.current && !document.querySelector("dialog[open]")) focusHeading(main.current);
    first.current = false;
  }, [view]);
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header />
      <ReplayBar />
      <Banner />
      <main id="main" ref={main} tabIndex={-1} aria-label={view?.name}>
        <Boundary key={path.value}>{view ? <view.component /> : <Empty title="No such page" />}</Boundary>
      </main>
      <Toasts />
      <Notices />
      <ActionDialog />
      <KeysDialog />
      <Palette />
    </>
  );
}

/** Move the focus to the new view, so that a screen reader says its name and the keyboard starts there. */
function focusHeading(main: HTMLElement | null): void {
  scrollTo(0, 0);
  const heading = main?.querySelector<HTMLElement>("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? main)?.focus({ preventScroll: true });
}

function SignedOut() {
  return (
    <main id="main">
      <h1 class="visually-hidden">Signed out</h1>
      <Empty title="You are signed out" command="dibs open">
        A link works once, within a minute, and a browser stays signed in for 12 hours. To sign in, run this in your repository:
      </Empty>
    </main>
  );
}
