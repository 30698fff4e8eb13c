/** What the token of this browser allows, nothing while the page shows the past; the server checks every request anyway. */
import { isReplay } from "../moment";
import { type Answer, api, data } from "./client";
import { type Loaded, useResource } from "./resource";

export type Rights = {
  /** Who is signed in, "" if that is unknown. */
  who: string;
  /** Whether it may act for agents: ask, message, acknowledge. */
  act: boolean;
  /** Whether it may act as a human: revoke, decide. */
  human: boolean;
  /** Why it may not, "" if it may do everything. */
  why: string;
  /** When the session ends, in seconds; 0 if it does not. */
  until: number;
};

const NONE: Rights = { who: "", act: false, human: false, why: "", until: 0 };

/** Use who is signed in; nothing else is asked before that is known. */
export function useMe(): Loaded<Answer<"/api/v1/whoami">> {
  return useResource("whoami", () => data(api.GET("/api/v1/whoami")), { on: [], every: 300, shared: true });
}

export function useRights(): Rights {
  const { data: me } = useMe();
  if (isReplay.value) return { ...NONE, who: me?.agent ?? "", why: "the page shows the past" };
  if (!me) return NONE;
  const scope = me.scope ?? "read";
  const human = scope === "human" || scope === "admin";
  const why = human ? "" : `this browser is signed in with the scope ${scope}; dibs open signs in as a human`;
  return { who: me.agent, act: scope !== "read", human, why, until: me.expires ?? 0 };
}
