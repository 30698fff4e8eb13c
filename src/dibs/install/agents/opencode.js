// dibs:opencode: written by `dibs init`, removed by `dibs init --uninstall`.
// Asks Dibs before a tool runs, and gives the model news. The other side is dibs/guard/dialects.
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"

const HOOK = "@DIBS_HOOK@"
// Longer than any answer takes, and short enough not to hang on a broken hook.
const PATIENCE_MS = 20_000
const LOOKUP_MS = 1_000
// Tools that write no files, and those of them whose end is a heartbeat.
const READS = ["glob", "grep", "list", "webfetch", "websearch", "lsp"]
const QUIET = new Set([...READS, "todowrite", "todoread", "skill", "question"])
// How many texts stay in a session's system prompt; the oldest are dropped first.
const KEPT = 20

// What to say if Dibs is no longer installed; otherwise nothing.
function missing() {
  const gone = HOOK[0] === "dibs" ? "" : HOOK.find((word) => word.startsWith("/") && !existsSync(word))
  if (gone === undefined) return ""
  const what = gone ? `it is no longer installed (${gone} is missing)` : "dibs is not on the PATH"
  const how = gone ? "Reinstall it and run dibs init" : "Install Dibs"
  return `Dibs blocked this call, because ${what}. ${how}, or delete .opencode/plugin/dibs.js.`
}

function run(payload, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(HOOK[0], HOOK.slice(1), { cwd, stdio: ["pipe", "pipe", "pipe"] })
    const said = { out: "", err: "" }
    const late = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error("Dibs blocked this call: the hook timed out"))
    }, PATIENCE_MS)
    child.on("error", (error) => {
      clearTimeout(late)
      reject(new Error(missing() || `Dibs blocked this call: cannot start the hook: ${error.message}`))
    })
    child.stdin.on("error", () => {}) // it answered before it had read everything
    child.stdout.setEncoding("utf8").on("data", (text) => (said.out += text))
    child.stderr.setEncoding("utf8").on("data", (text) => (said.err += text))
    child.on("close", (status) => {
      clearTimeout(late)
      if (status !== 0) {
        const why = said.err.trim() || `Dibs blocked this call: the hook exited with status ${status}`
        return reject(new Error((HOOK[0] !== "dibs" && missing()) || why))
      }
      try {
        resolve(said.out.trim() ? JSON.parse(said.out) : {})
      } catch {
        reject(new Error("Dibs blocked this call: the answer of the hook is not JSON"))
      }
    })
    child.stdin.end(JSON.stringify(payload))
  })
}

export const Dibs = async ({ client, directory }) => {
  const parents = new Map() // session -> the session that started it, or ""
  const told = new Map() // session -> our texts in its system prompt
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

  // Failing to get news must not block anything.
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
      if (QUIET.has(input.tool) && !READS.includes(input.tool)) return
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
