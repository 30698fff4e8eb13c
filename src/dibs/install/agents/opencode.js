// dibs:opencode: written by `dibs init`, and taken away by `dibs init --uninstall`.
// Asks Dibs before a tool runs, and tells the model what changed. Its other half is dibs/guard/dialects/opencode.py.
import { spawn } from "node:child_process"

const HOOK = "@DIBS_HOOK@"
// Longer than any answer takes by itself, and short enough that nobody waits for a broken one.
const PATIENCE_MS = 20_000
const LOOKUP_MS = 1_000
// Tools that touch no file of the tree.
const QUIET = new Set(["glob", "grep", "list", "webfetch", "websearch", "todowrite", "todoread", "skill", "question", "lsp"])
// Texts that stay in the system prompt of a session; the oldest news go first.
const KEPT = 20

function run(payload, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(HOOK[0], HOOK.slice(1), { cwd, stdio: ["pipe", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error("dibs: refused, because nobody answered in time"))
    }, PATIENCE_MS)
    child.on("error", (error) => {
      clearTimeout(late)
      reject(new Error(`dibs: refused, because the hook cannot be started: ${error.message}`))
    })
    child.stdin.on("error", () => {}) // it answered before it had read all
    child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text))
    child.on("close", (status) => {
      clearTimeout(late)
      if (status !== 0) return reject(new Error(said.err.trim() || `dibs: refused, because the hook ended with ${status}`))
      try {
        resolve(said.out.trim() ? JSON.parse(said.out) : {})
      } catch {
        reject(new Error("dibs: refused, because the hook did not answer in JSON"))
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Dibs = async ({ client, directory }) => {
  const parents = new Map() // of each session that we know: the session that started it, or ""
  const told = new Map() // of each session: what its system prompt holds of us
  const prompted = new Set()

  const parentOf = async (session) => {
    if (!parents.has(session)) {
      const asked = client.session.get({ path: { id: session } }).then((answer) => answer?.data?.parentID ?? "")
      const late = new Promise((resolve) => setTimeout(resolve, LOOKUP_MS, ""))
      parents.set(session, await Promise.race([asked, late]).catch(() => ""))
    }
    return parents.get(session)
  }

  const ask = async (event, session, more = {}) => {
    const parent = session ? await parentOf(session) : ""
    return run({ dibs_opencode: 1, event, sessionID: session ?? "", parentID: parent, cwd: directory, ...more }, directory)
  }

  // What is no more than news must not stop anybody when it cannot be had.
  const news = async (event, session, more) => {
    try {
      return (await ask(event, session, more)).tell ?? ""
    } catch {
      return ""
    }
  }

  const keep = (session, text) => {
    if (text) told.set(session, [...(told.get(session) ?? []), text].slice(-KEPT))
  }

  return {
    "tool.execute.before": async (input, output) => {
      if (QUIET.has(input.tool)) return
      const answer = await ask("before", input.sessionID, { tool: input.tool, callID: input.callID, args: output.args })
      if (answer.deny) throw new Error(answer.deny)
    },
    "tool.execute.after": async (input, output) => {
      if (QUIET.has(input.tool)) return
      const text = await news("after", input.sessionID, { tool: input.tool, callID: input.callID, args: input.args })
      if (!text) return
      if (typeof output?.output === "string") output.output += `\n\n${text}`
      else keep(input.sessionID, text)
    },
    "chat.message": async (input) => {
      if (told.has(input.sessionID)) prompted.add(input.sessionID)
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input.sessionID
      if (!session) return
      if (!told.has(session)) {
        told.set(session, [])
        keep(session, await news((await parentOf(session)) ? "subagent_started" : "started", session))
      } else if (prompted.delete(session)) {
        keep(session, await news("prompted", session))
      }
      output.system.push(...told.get(session))
    },
    event: async ({ event }) => {
      const info = event.properties?.info
      const session = event.properties?.sessionID ?? info?.id
      if (event.type === "session.created" && info) parents.set(info.id, info.parentID ?? "")
      if (event.type === "session.idle" && session) {
        await news((await parentOf(session)) ? "subagent_stopped" : "stopped", session)
      }
      if (event.type === "session.compacted" && session) {
        const text = await news("compacted", session)
        if (text) told.set(session, [text])
      }
      if (event.type === "session.deleted" && session) {
        await news((await parentOf(session)) ? "subagent_stopped" : "ended", session)
        for (const known of [parents, told, prompted]) known.delete(session)
      }
    },
    dispose: async () => {
      for (const [session, parent] of parents) if (!parent && told.has(session)) await news("ended", session)
    },
  }
}
